/** A C++ program without frame pointers: recursion, virtual calls, callbacks of libc, handlers of signals. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const FRAMELESS_PROGRAM = `
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/time.h>
#include <vector>
static volatile double sink;
__attribute__((noinline)) double leaf(double x, int n) {
  for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5 / (x + 1);
  return x;
}
__attribute__((noinline)) double descend(int depth, double x) {
  volatile double room[8];
  room[depth & 7] = x;
  double below = depth == 0 ? leaf(x, 200) : descend(depth - 1, x + room[depth & 7]) + 1;
  return below + room[depth & 7];
}
struct Task { virtual double run(int depth) = 0; virtual ~Task() {} };
struct Descend : Task { double run(int depth) override { return descend(depth, 1.5) * 2; } };
struct Fill : Task {
  double run(int depth) override {
    std::map<std::string, double> all;
    for (int i = 0; i < 50; i++) all[std::to_string(i * 7919 % 101)] = descend(depth / 4, i);
    double sum = 0;
    for (auto &one : all) sum += one.second;
    return sum;
  }
};
static int compare(const void *a, const void *b) {
  return leaf(*(double *)a, 20) < leaf(*(double *)b, 20) ? -1 : 1;
}
__attribute__((noinline)) static void onSignal(int) { sink = leaf(sink, 60000); }
int main() {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigaction(SIGALRM, &action, nullptr);
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  Descend deep;
  Fill fill;
  std::vector<Task *> tasks{&deep, &fill};
  for (int i = 0; i < 900; i++) {
    for (auto *task : tasks) sink = task->run(10 + i % 30);
    std::vector<double> values;
    for (int k = 0; k < 300; k++) values.push_back((k * 7919) % 1009);
    qsort(values.data(), values.size(), 8, compare);
    std::sort(values.begin(), values.end(), [](double a, double b) { return leaf(a, 5) < leaf(b, 5); });
  }
}
`;

export const noCompiler = spawnSync('g++', ['--version']).status === 0 ? false : 'g++ is not installed';

/** The program, compiled without frame pointers. */
export function buildFrameless(folder: string): string {
  const path = join(folder, 'program');
  writeFileSync(`${path}.cc`, FRAMELESS_PROGRAM);
  const { status, stderr } = spawnSync('g++', ['-O2', '-fomit-frame-pointer', `${path}.cc`, '-o', path]);
  assert.equal(status, 0, String(stderr));
  return path;
}
