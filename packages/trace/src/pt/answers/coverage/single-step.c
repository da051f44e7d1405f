/* Runs a program and writes the address of every instruction that it executes, eight bytes each: what a trace must find again. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
  pid_t child = fork();
  int status;
  if (count < 2) return 2;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) return 3;
    execv(words[1], words + 1);
    return 4;
  }
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    struct user_regs_struct registers;
    unsigned long long address;
    static unsigned long long behind_cpuid;
    if (WSTOPSIG(status) != SIGTRAP) {
      kill(child, SIGKILL);
      return 7;
    }
    if (ptrace(PTRACE_GETREGS, child, 0, &registers) < 0) return 5;
    address = registers.rip;
    /* A hypervisor lost the trap: it came one instruction later. */
    if (behind_cpuid != 0 && address != behind_cpuid) fwrite(&behind_cpuid, sizeof behind_cpuid, 1, stdout);
    behind_cpuid = (ptrace(PTRACE_PEEKTEXT, child, address, 0) & 0xffff) == 0xa20f ? address + 2 : 0;
    fwrite(&address, sizeof address, 1, stdout);
    if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) < 0) return 6;
  }
  return WIFEXITED(status) ? 0 : 8;
}
