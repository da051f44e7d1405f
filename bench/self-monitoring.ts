/**
 * Promises: a page read takes at most 150 ns where a timer stands in the counter's place, and at most half of
 * read(2) where there are counters (in the guest).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_ZERO,
} from '../packages/core/src/format/abi/index.ts';
import { measure } from '../packages/node/src/linux/count/self-monitoring/index.ts';
import { openCounters } from '../packages/node/src/linux/count/self-monitoring/open-counters.ts';
import { realSys } from '../packages/node/src/linux/kernel/sys/index.ts';
import { EventPage } from '../packages/node/src/test/event-page.ts';
import { ensureGuest } from '../scripts/pmu-guest/build.ts';
import { bundleTest } from '../scripts/pmu-guest/bundle.ts';
import { GuestUnavailable } from '../scripts/pmu-guest/commands.ts';
import { runInGuest } from '../scripts/pmu-guest/run.ts';
import { median } from './measure.ts';
import { costNs } from './self-monitoring-cost.ts';

const READS = 20_000;

/** Software events, of which pages of our own say that they have counters. */
function overMemory(events: readonly string[], capabilities: number): void {
  const pages = events.map(() => new EventPage({ capabilities: BigInt(capabilities), timeMult: 1n }));
  const waiting = pages.map(({ mapping }) => mapping);
  const sys = { ...realSys, mapEventPage: () => waiting.shift()! };
  const page = openCounters(events, {}, { sys, counterInstruction: 'clock' });
  const kernel = openCounters(events, { access: 'read' });
  const [ours, peer] = costNs([page, kernel], READS);
  const clock = page.clock === 'perf' ? "the page's time" : 'clock_gettime';
  console.log(
    `${events.length} event${events.length > 1 ? 's' : ''}, ${clock}: page read ${ours!.toFixed(0)} ns, read(2) ${peer!.toFixed(0)} ns, ratio ${(ours! / peer!).toFixed(2)}`,
  );
  for (const handle of [page, kernel, ...pages]) handle.close();
}

/**
 * What `measure` of nothing leaves after its calibration: the first in a process, and
 * the median of those after it.
 */
async function benchMeasure(): Promise<void> {
  for (const [what, nothing] of [
    ['a function', () => {}],
    ['an asynchronous function', async () => {}],
  ] as const) {
    const leftNs: number[] = [];
    for (let round = 0; round < 301; round++)
      leftNs.push(Number((await measure<unknown>(nothing, 'task-clock')).timeNs));
    const [first, ...later] = leftNs;
    console.log(
      `measure of ${what} that does nothing: ${first} ns are left at first, ${median(later).toFixed(0)} ns then`,
    );
  }
}

async function inGuest(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  try {
    const guest = await ensureGuest();
    const name = await bundleTest('bench/self-monitoring-guest.ts', folder);
    for (const snapshot of ['a57', 'a57-icount'] as const) {
      console.log(`in the guest ${snapshot}:`);
      await runInGuest(guest, {
        snapshot,
        script: `node ${name}`,
        hostFolder: folder,
        toolsFolder: folder,
        out: process.stdout,
        err: process.stderr,
        timeoutSeconds: 120,
      });
    }
  } catch (error) {
    if (!(error instanceof GuestUnavailable)) throw error;
    console.log(`not in the guest: ${error.message}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchSelfMonitoring(): Promise<void> {
  const four = ['page-faults', 'context-switches', 'minor-faults', 'major-faults'];
  const withTime = MMAP_CAP_USER_RDPMC | MMAP_CAP_USER_TIME | MMAP_CAP_USER_TIME_ZERO;
  for (const events of [four.slice(0, 1), four]) {
    overMemory(events, withTime);
    overMemory(events, MMAP_CAP_USER_RDPMC);
  }
  await benchMeasure();
  await inGuest();
}
