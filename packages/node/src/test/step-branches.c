/*
 * Runs a program step by step. For each instruction: its address and the sixteen bytes there, 24 bytes on
 * standard output. The memory map of the program's end goes to the file that the first argument names.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy_maps(pid_t child, const char *path) {
  char name[64], buffer[4096];
  size_t size;
  FILE *from, *to;
  snprintf(name, sizeof name, "/proc/%d/maps", child);
  from = fopen(name, "r");
  to = fopen(path, "w");
  if (!from || !to) return;
  fprintf(to, "%d\n", child);
  while ((size = fread(buffer, 1, sizeof buffer, from)) > 0) fwrite(buffer, 1, size, to);
  fclose(from);
  fclose(to);
}

int main(int count, char **words) {
  pid_t child;
  int status;
  if (count < 3) return 2;
  child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 1);
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) return 3;
    execv(words[2], words + 2);
    return 4;
  }
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 5;
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
  for (;;) {
    struct user_regs_struct registers;
    long words_there[2];
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
      copy_maps(child, words[1]);
      ptrace(PTRACE_CONT, child, 0, 0);
    } else {
      unsigned long long address;
      static unsigned long long behind_cpuid;
      if (WSTOPSIG(status) != SIGTRAP) return 7;
      if (ptrace(PTRACE_GETREGS, child, 0, &registers) < 0) return 6;
      address = registers.rip;
      errno = 0;
      if (behind_cpuid != 0 && address != behind_cpuid) { /* a hypervisor lost the trap: it came one instruction later */
        words_there[0] = ptrace(PTRACE_PEEKTEXT, child, behind_cpuid, 0);
        words_there[1] = ptrace(PTRACE_PEEKTEXT, child, behind_cpuid + 8, 0);
        fwrite(&behind_cpuid, sizeof behind_cpuid, 1, stdout);
        fwrite(words_there, sizeof words_there, 1, stdout);
      }
      words_there[0] = ptrace(PTRACE_PEEKTEXT, child, address, 0);
      words_there[1] = ptrace(PTRACE_PEEKTEXT, child, address + 8, 0);
      fwrite(&address, sizeof address, 1, stdout);
      fwrite(words_there, sizeof words_there, 1, stdout);
      behind_cpuid = (words_there[0] & 0xffff) == 0xa20f ? address + 2 : 0;
      if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) < 0) return 8;
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
  }
  return WIFEXITED(status) ? 0 : 9;
}
