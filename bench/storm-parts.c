/*
 * What a held trigger costs an epoll_wait, in CPU time of the thread: storm-parts TRACEPOINT-ID ROUNDS. Events
 * are switched on and off around short slices of calls in turn, so that each round compares neighbours in time.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS 3000
#define MOST_ROUNDS 1000
#define MOST_CPUS 256

enum { OFF, COUNTED, FAR, HELD, WAYS };
static const char *const NAMES[] = {"events that are off", "the event is counted",
                                    "sampled, with a period that never comes",
                                    "sampled at each hit, into a ring that is paused"};
static int epoll, cpus, fds[WAYS][MOST_CPUS];
static double times[WAYS][MOST_ROUNDS], differences[MOST_ROUNDS];

static double one_call(int calls) {
  struct timespec from, to;
  struct epoll_event event;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int call = 0; call < calls; call++) epoll_wait(epoll, &event, 1, 0);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  return ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / calls;
}

static void open_all(int way, uint64_t tracepoint) {
  for (int cpu = 0; cpu < cpus; cpu++) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.config = tracepoint;
    attr.disabled = attr.inherit = 1;
    if (way != COUNTED) {
      attr.sample_period = way == FAR ? 1ull << 62 : 1;
      attr.sample_type = PERF_SAMPLE_IDENTIFIER;
      attr.wakeup_events = 1;
    }
    int fd = fds[way][cpu] = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, 0);
    if (fd < 0) perror("perf_event_open"), exit(1);
    if (way == COUNTED) continue;
    if (mmap(0, 3 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) perror("mmap"), exit(1);
    if (way == HELD) ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
  }
}

static void switch_to(int way, unsigned long request) {
  if (way == OFF) return;
  for (int cpu = 0; cpu < cpus; cpu++) ioctl(fds[way][cpu], request, 0);
}

static int compare(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return a < b ? -1 : a > b;
}

int main(int argc, char **argv) {
  int rounds = argc > 2 ? atoi(argv[2]) : 300;
  if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) return 2;
  epoll = epoll_create1(0);
  cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (cpus > MOST_CPUS) return 2;
  for (int way = COUNTED; way < WAYS; way++) open_all(way, strtoull(argv[1], 0, 10));
  for (int round = 0; round < rounds; round++)
    for (int way = 0; way < WAYS; way++) {
      switch_to(way, PERF_EVENT_IOC_ENABLE);
      one_call(CALLS / 10);
      times[way][round] = one_call(CALLS);
      switch_to(way, PERF_EVENT_IOC_DISABLE);
    }
  for (int way = WAYS - 1; way >= 0; way--) {
    for (int round = 0; round < rounds; round++) differences[round] = times[way][round] - times[OFF][round];
    qsort(differences, rounds, sizeof *differences, compare);
    qsort(times[way], rounds, sizeof **times, compare);
    printf("  %s: %.0f ns, %+.0f (%+.0f to %+.0f)\n", NAMES[way], times[way][rounds / 2], differences[rounds / 2],
           differences[rounds / 4], differences[rounds * 3 / 4]);
  }
  return 0;
}
