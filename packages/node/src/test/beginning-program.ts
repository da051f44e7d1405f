import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A thread each 8 ms; all of them wait for the end of the input, and only then call `hit`. */
const SOURCE = `
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void hit(void) { __asm__ volatile(""); }
static pthread_barrier_t told;
static void *run(void *argument) {
  pthread_barrier_wait(&told);
  for (int i = 0; i < 1000; i++) hit();
  return argument;
}
int main(int count, char **words) {
  int threads = atoi(words[1]);
  pthread_t made[threads];
  char byte;
  pthread_barrier_init(&told, 0, threads + 1);
  write(1, "begun", 5);
  for (int i = 0; i < threads; i++) {
    usleep(8000);
    if (pthread_create(&made[i], 0, run, 0) != 0) return 1;
  }
  while (read(0, &byte, 1) > 0);
  pthread_barrier_wait(&told);
  for (int i = 0; i < threads; i++) pthread_join(made[i], 0);
  return 0;
}
`;

/** Compile it; null where there is no compiler. */
export function buildBeginningProgram(folder: string): string | null {
  const source = join(folder, 'beginning.c');
  const path = join(folder, 'beginning');
  writeFileSync(source, SOURCE);
  const { status, stderr } = spawnSync('gcc', ['-O1', '-o', path, source, '-lpthread'], { encoding: 'utf8' });
  if (status === null) return null;
  if (status !== 0) throw new Error(stderr);
  return path;
}

/** Running, and making threads. At the end of its input each thread makes 1000 calls. */
export async function startBeginning(path: string, threads: number): Promise<ChildProcess & { pid: number }> {
  const child = spawn(path, [`${threads}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child as ChildProcess & { pid: number };
}
