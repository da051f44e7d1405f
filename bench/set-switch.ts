/** Promise: a switch of event sets steals less than 50 µs of the target's counting. */
import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCounting } from '../packages/node/src/linux/count/counting/index.ts';

const SWITCHES = 2000;
const SETS = [
  'task-clock,{context-switches,page-faults}',
  'minor-faults,major-faults,cpu-migrations,alignment-faults',
];

/** A target that always runs, on one CPU; this process has the other. */
async function overOneProcess(): Promise<void> {
  const target = spawn('taskset', ['-c', '0', '/bin/sh', '-c', 'while :; do :; done'], { stdio: 'ignore' });
  try {
    await sleep(100);
    using session = openCounting({ target: { kind: 'processes', pids: [target.pid!] }, sets: SETS });
    measure('a running process, sets of 3 and 4 events', session);
  } finally {
    target.kill();
  }
}

function overAllCpus(): void {
  using session = openCounting({ target: { kind: 'cpus' }, sets: SETS });
  measure('all CPUs, sets of 3 and 4 events', session);
}

function measure(what: string, session: ReturnType<typeof openCounting>): void {
  session.start();
  const blind: number[] = [];
  const from = process.hrtime.bigint();
  for (let at = 0; at < SWITCHES; at++) {
    const before = session.switching.blindNs;
    session.next();
    blind.push(Number(session.switching.blindNs - before) / 1000);
  }
  const wholeUs = Number(process.hrtime.bigint() - from) / 1000 / SWITCHES;
  session.stop();
  blind.sort((a, b) => a - b);
  const at = (share: number) => blind[Math.floor((SWITCHES - 1) * share)]!.toFixed(1);
  console.log(
    `${what}: nothing is loaded for ${at(0.5)} µs of a switch (9 of 10 below ${at(0.9)}, 99 of 100 below ${at(0.99)}); with reading ${wholeUs.toFixed(1)} µs`,
  );
}

export async function benchSetSwitch(): Promise<void> {
  console.log(
    `switching event sets, ${SWITCHES} times (CPUs: ${spawnSync('nproc', { encoding: 'utf8' }).stdout.trim()})`,
  );
  await overOneProcess();
  overAllCpus();
}
