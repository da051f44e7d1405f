/* Programs whose output says whether stepping them was noticed: stepped-program MODE. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int sum;
static volatile sig_atomic_t caught;

static void say(const char *format, long value) {
  char text[100];
  int length = snprintf(text, sizeof text, format, value);
  if (write(1, text, length) != length) _exit(9);
}

static void *add(void *unused) {
  __atomic_add_fetch(&sum, 1, __ATOMIC_SEQ_CST);
  return unused;
}

static void threads(void) {
  pthread_t all[100];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (int i = 0; i < 100; i++)
    if (pthread_create(&all[i], &small, add, NULL)) say("no thread %ld\n", i);
  for (int i = 0; i < 100; i++) pthread_join(all[i], NULL);
  say("sum %ld\n", sum);
}

static void family(void) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(3);
  waitpid(child, &status, 0);
  say("fork %ld\n", WEXITSTATUS(status));
  child = vfork();
  if (child == 0) {
    execl("/proc/self/exe", "again", "second", NULL);
    _exit(9);
  }
  waitpid(child, &status, 0);
  say("vfork %ld\n", WEXITSTATUS(status));
}

static void *exec_second(void *unused) {
  execl("/proc/self/exe", "again", "second", NULL);
  return unused;
}

static void exec_by_thread(void) {
  pthread_t other;
  pthread_create(&other, NULL, exec_second, NULL);
  pthread_join(other, NULL);
  say("still here %ld\n", 1);
}

static void on_signal(int number) { caught += number; }

/* Another process stops it in its sleep and lets it go on; then an alarm interrupts a call that begins again. */
static void restarted(void) {
  struct timespec before, after, left = {0, 400000000};
  pid_t self = getpid(), child = fork();
  if (child == 0) {
    usleep(100000);
    kill(self, SIGSTOP);
    usleep(50000);
    kill(self, SIGCONT);
    _exit(0);
  }
  clock_gettime(CLOCK_MONOTONIC, &before);
  int result = nanosleep(&left, &left);
  clock_gettime(CLOCK_MONOTONIC, &after);
  long slept = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
  say("sleep %ld\n", result);
  say("long enough %ld\n", slept >= 400);
  waitpid(child, NULL, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  int ends[2];
  char byte = 'x';
  if (pipe(ends)) _exit(9);
  struct itimerval timer = {.it_value = {0, 50000}};
  child = fork();
  if (child == 0) {
    usleep(300000);
    _exit(write(ends[1], "y", 1) == 1 ? 0 : 9);
  }
  setitimer(ITIMER_REAL, &timer, NULL);
  say("read %ld\n", read(ends[0], &byte, 1));
  say("byte %ld\n", byte);
  say("caught %ld\n", caught);
  waitpid(child, NULL, 0);
  action.sa_flags = 0;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &timer, NULL);
  left.tv_nsec = 900000000;
  say("interrupted %ld\n", nanosleep(&left, NULL) == -1 && errno == EINTR);
}

/* Writes code, runs it, writes other code to the same place. */
static void self_modifying(void) {
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int (*function)(void) = (int (*)(void))code;
  memcpy(code, "\xb8\x05\x00\x00\x00\xc3", 6); /* mov $5, %eax; ret */
  int result = function();
  memcpy(code, "\xb8\x07\x00\x00\x00\x90\xeb\x00\xc3", 9); /* mov $7, %eax; nop; jmp; ret */
  say("code %ld\n", result * 10 + function());
}

static void system_pages(void) {
  struct timespec now;
  say("vdso %ld\n", clock_gettime(CLOCK_MONOTONIC, &now));
  long (*time_of_page)(long *) = (long (*)(long *))0xffffffffff600400;
  long difference = time_of_page(NULL) - time(NULL);
  say("vsyscall %ld\n", difference >= -1 && difference <= 1);
}

/* Handlers that block everything, and threads that do, are common: none of it may cost the program its handler. */
static void trap_signal(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigfillset(&action.sa_mask);
  sigaction(SIGTRAP, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  say("first %ld\n", caught);
  sigset_t all, before, during;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  raise(SIGTRAP);
  say("held back %ld\n", caught);
  sigprocmask(SIG_SETMASK, NULL, &during);
  say("blocked %ld\n", sigismember(&during, SIGTRAP));
  sigprocmask(SIG_SETMASK, &before, &during);
  say("was blocked %ld\n", sigismember(&during, SIGTRAP));
  say("delivered %ld\n", caught);
  raise(SIGTRAP);
  say("again %ld\n", caught);
  signal(SIGTRAP, SIG_IGN);
  raise(SIGTRAP);
  say("ignored %ld\n", caught);
}

/* A line now and then, for some seconds. */
static void lines(void) {
  struct timespec pause = {0, 20000000};
  for (int i = 0; i < 100; i++) {
    say("line %ld\n", i);
    nanosleep(&pause, NULL);
  }
}

int main(int argc, char **argv) {
  (void)argc;
  const char *mode = argv[1];
  if (!strcmp(mode, "threads")) threads();
  else if (!strcmp(mode, "family")) family();
  else if (!strcmp(mode, "exec-by-thread")) exec_by_thread();
  else if (!strcmp(mode, "second")) { say("second %ld\n", 2); return 5; }
  else if (!strcmp(mode, "restarted")) restarted();
  else if (!strcmp(mode, "self-modifying")) self_modifying();
  else if (!strcmp(mode, "system-pages")) system_pages();
  else if (!strcmp(mode, "trap-signal")) trap_signal();
  else if (!strcmp(mode, "lines")) lines();
  else return 2;
  return 0;
}
