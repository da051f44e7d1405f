/* Nanoseconds of an epoll_wait that finds nothing: epoll-waits CALLS ROUNDS, each after a line on its input. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

int main(int argc, char **argv) {
  long calls = argc > 1 ? atol(argv[1]) : 1000000;
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  int epoll = epoll_create1(0);
  struct epoll_event event;
  char line[16];
  for (int round = 0; round < rounds && fgets(line, sizeof line, stdin); round++) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long call = 0; call < calls; call++) epoll_wait(epoll, &event, 1, 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
    printf("%.1f\n", ns / calls);
    fflush(stdout);
  }
  return 0;
}
