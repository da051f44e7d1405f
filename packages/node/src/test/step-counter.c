/*
 * The peer of tests and of the benchmark: counts what one thread executes, by ptrace, in a loop that
 * knows nothing of ours. usage: step-counter RESULT PROGRAM [WORDS...]
 * RESULT gets: steps of the program, instructions, of which a repeated string instruction is one, and how long
 * it took in ns. With STEPS_ALONE in its environment it does nothing but step.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int is_repeated_string(const unsigned char *code) {
  int repeated = 0;
  for (;; code++) {
    if (*code == 0xf2 || *code == 0xf3) repeated = 1;
    else if (*code != 0x66 && *code != 0x67) break;
  }
  if ((*code & 0xf0) == 0x40) code++;
  switch (*code) {
    case 0xa4: case 0xa5: case 0xa6: case 0xa7: case 0xaa: case 0xab: case 0xac: case 0xad: case 0xae: case 0xaf:
      return repeated;
  }
  return 0;
}

static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  FILE *result = fopen(argv[1], "we");
  int only_steps = getenv("STEPS_ALONE") != NULL;
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status;
  long steps = 0, instructions = 0, signal_number = 0;
  struct user_regs_struct before, after;
  waitpid(child, &status, 0);
  ptrace(PTRACE_GETREGS, child, NULL, &before);
  long start_ns = now_ns();
  for (;;) {
    int repeated = 0, is_cpuid = 0;
    if (!only_steps) {
      union { long words[2]; unsigned char bytes[16]; } code;
      code.words[0] = ptrace(PTRACE_PEEKTEXT, child, (void *)before.rip, NULL);
      code.words[1] = ptrace(PTRACE_PEEKTEXT, child, (void *)(before.rip + 8), NULL);
      repeated = is_repeated_string(code.bytes);
      is_cpuid = code.bytes[0] == 0x0f && code.bytes[1] == 0xa2;
    }
    ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)signal_number);
    signal_number = 0;
    waitpid(child, &status, 0);
    steps++; /* also exit, which begins and does not come back */
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      instructions++;
      break;
    }
    if (WSTOPSIG(status) != SIGTRAP) {
      signal_number = WSTOPSIG(status);
      steps--;
      continue;
    }
    if (only_steps) continue;
    ptrace(PTRACE_GETREGS, child, NULL, &after);
    if (!(repeated && after.rip == before.rip)) instructions++;
    if (is_cpuid && after.rip != before.rip + 2) { /* a hypervisor lost the trap: it came one instruction later */
      instructions++;
      steps++;
    }
    before = after;
  }
  fprintf(result, "%ld %ld %ld\n", steps, instructions, now_ns() - start_ns);
  fclose(result);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
