/** What a file says of the crash that it was written for. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { flight } from './index.ts';

const isRoot = process.getuid?.() === 0;
const folder = mkdtempSync(join(tmpdir(), 'flight-crash-'));
after(() => rmSync(folder, { recursive: true }));

/** A thread of its own name divides by zero, or raises what it is told, in a child. */
const SOURCE = `
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int number;
static void *crash(void *unused) { prctl(PR_SET_NAME, "breaker"); raise(number); return unused; }
int main(int argc, char **argv) {
  number = atoi(argv[1]);
  pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, 0, crash, 0);
    pthread_join(thread, 0);
    return 0;
  }
  waitpid(child, 0, 0);
  return argc == 0;
}`;

test('a crash of a thread of a child: its signal, its name, its process and thread', {
  skip: isRoot ? false : 'tracepoints need root',
}, async (t) => {
  const [source, program] = [join(folder, 'crash.c'), join(folder, 'crash')];
  writeFileSync(source, SOURCE);
  if (spawnSync('gcc', ['-pthread', '-o', program, source]).status !== 0) return t.skip('there is no gcc');
  for (const [number, name] of [
    [8, 'SIGFPE'],
    [11, 'SIGSEGV'],
    [31, 'SIGSYS'],
  ] as const) {
    const triggers: string[] = [];
    const recorder = await flight({
      command: [program, `${number}`],
      on: ['crash'],
      buildIds: false,
      directory: folder,
      onDump: ({ trigger }) => triggers.push(trigger),
    });
    await recorder.ended;
    assert.equal(triggers.length, 1, name);
    const [, pid, tid] =
      new RegExp(`^crash: ${name} in breaker \\(process (\\d+), thread (\\d+)\\)$`).exec(triggers[0]!) ?? [];
    assert.ok(pid !== undefined && tid !== undefined, triggers[0]);
    assert.notEqual(Number(pid), recorder.pid);
    assert.notEqual(tid, pid);
  }
});

test('500 idle threads are watched, and there is nothing to tell of them', async (t) => {
  const [source, program] = [join(folder, 'threads.c'), join(folder, 'threads')];
  writeFileSync(
    source,
    `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *idle(void *unused) { for (;;) pause(); return unused; }
int main(void) {
  pthread_t thread;
  for (int number = 0; number < 500; number++) pthread_create(&thread, 0, idle, 0);
  puts("ready");
  fflush(stdout);
  char line[8];
  // One works at last: it was there as the recorder began.
  if (fgets(line, sizeof line, stdin)) for (;;) { }
  return 0;
}`,
  );
  if (spawnSync('gcc', ['-pthread', '-O0', '-o', program, source]).status !== 0)
    return t.skip('there is no gcc');
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    const options = { pids: [child.pid!], events: 'cpu-clock:u', frequency: 199, directory: folder };
    await using recorder = await flight({ ...options, buildIds: false });
    assert.deepEqual(recorder.notes, []);
    const idle = await recorder.dump('idle');
    assert.deepEqual([idle.records, idle.loss], [0, []]);
    child.stdin.write('go\n');
    for (let tries = 0; ; tries++) {
      await new Promise((done) => setTimeout(done, 100));
      const busy = await recorder.dump('busy');
      assert.deepEqual(busy.loss, []);
      if (busy.records > 5) break;
      assert.ok(tries < 200, `${busy.records} records`);
    }
    assert.deepEqual(recorder.notes, []);
    assert.equal(recorder.status().processes, 1);
  } finally {
    child.kill('SIGKILL');
  }
});
