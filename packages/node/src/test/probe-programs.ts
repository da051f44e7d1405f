import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CounterpointError } from '@counterpoint/core/base';
import { openCounting } from '../linux/count/counting/index.ts';
import { realSys } from '../linux/kernel/sys/index.ts';

/** No right, or a kernel without uprobes. */
const CANNOT: ReadonlySet<string> = new Set([
  'ERR_PERF_PERMISSION',
  'ERR_NO_PERF_EVENTS',
  'ERR_PROBE_DEFINITION',
  'ERR_EVENT_SYNTAX',
]);

/** The C library that this process runs with, and so do its children. */
export const C_LIBRARY = /\/\S*\/(?:libc\.so\.6|libc-[\d.]+\.so|ld-musl-\S+)$/m.exec(
  readFileSync('/proc/self/maps', 'utf8'),
)?.[0];

/** Why no probes that children inherit can be set here, or false. */
export function probesAreMissing(): string | false {
  if (C_LIBRARY === undefined) return 'this process has no C library of its own';
  try {
    const target = { kind: 'processes', pids: [process.pid] } as const;
    openCounting({ target, events: `uprobe:${C_LIBRARY}:kill` }).close();
    return false;
  } catch (error) {
    // Anything else is for the tests to fail on.
    if (!(error instanceof CounterpointError && CANNOT.has(error.code))) throw error;
    return `no probes for this user: ${error.message}`;
  }
}

/** Probes of tracefs that Counterpoint made, as the kernel lists them. */
export function definedProbes(): string[] {
  return realSys
    .readTracefs('uprobe_events')
    .split('\n')
    .filter((line) => line.includes('counterpoint_'));
}

/**
 * Threads, then children with a thread each, all at once, and a shell that forks. `hit` is called 3000 times
 * for each of the threads at first, and 7 times.
 */
const C_SOURCE = `
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((noinline)) void hit(void) { __asm__ volatile(""); }
static void *run(void *argument) { for (int i = 0; i < 1000; i++) hit(); return argument; }
static void thread(pthread_t *made) { if (pthread_create(made, 0, run, 0) != 0) _exit(1); }
int main(int count, char **words) {
  int threads = atoi(words[1]), status, failed = 0;
  pthread_t made[64];
  for (int i = 0; i < threads; i++) thread(&made[i]);
  for (int i = 0; i < threads; i++) pthread_join(made[i], 0);
  for (int i = 0; i < threads; i++) {
    pid_t child = fork();
    if (child < 0) return 2;
    if (child > 0) continue;
    run(0);
    thread(&made[0]);
    pthread_join(made[0], 0);
    _exit(0);
  }
  while (wait(&status) > 0) failed |= status;
  for (int i = 0; i < 7; i++) hit();
  if (system("ls / | wc -l > /dev/null") != 0) return 3;
  return failed == 0 ? 0 : 4;
}
`;

const GO_SOURCE = `package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

//go:noinline
func hit(i int) int { return i + 1 }

func main() {
	threads, _ := strconv.Atoi(os.Args[1])
	var all sync.WaitGroup
	for i := 0; i < threads; i++ {
		all.Add(1)
		go func() {
			runtime.LockOSThread()
			for k := 0; k < 1000; k++ {
				hit(k)
			}
			all.Done()
		}()
	}
	all.Wait()
	if len(os.Args) > 2 {
		return
	}
	for i := 0; i < 2; i++ {
		if exec.Command(os.Args[0], os.Args[1], "child").Run() != nil {
			os.Exit(2)
		}
	}
	for i := 0; i < 7; i++ {
		hit(i)
	}
}
`;

/** A program that calls a function `3000 * threads + 7` times, in threads and children. */
export interface ProbeProgram {
  language: 'C' | 'C++' | 'Go';
  hit: string;
  /** Why it cannot be built here, or the path of the program. */
  build(folder: string): { skip: string } | { path: string };
}

function compiled(
  language: ProbeProgram['language'],
  compiler: string,
  hit: string,
  file: string,
  source: string,
  words: string[],
): ProbeProgram {
  return {
    language,
    hit,
    build(folder) {
      if (spawnSync(compiler, [compiler === 'go' ? 'version' : '--version']).status !== 0)
        return { skip: `no compiler for ${language} (${compiler})` };
      writeFileSync(join(folder, file), source);
      const path = join(folder, 'program');
      const env = { ...process.env, HOME: folder, GOFLAGS: '', GO111MODULE: 'off', CGO_ENABLED: '0' };
      const built = spawnSync(compiler, [...words, '-o', path, file], { cwd: folder, env, encoding: 'utf8' });
      if (built.status !== 0) throw new Error(`${compiler}: ${built.stderr}`);
      return { path };
    },
  };
}

export const PROBE_PROGRAMS: readonly ProbeProgram[] = [
  compiled('C', 'gcc', 'hit', 'program.c', C_SOURCE, ['-O1', '-pthread']),
  compiled('C++', 'g++', 'hit', 'program.cc', C_SOURCE, ['-O1', '-pthread']),
  compiled('Go', 'go', 'main.hit', 'program.go', GO_SOURCE, ['build']),
];
