import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import { noKernelPart } from '../../../test/rights.ts';
import { countOncePerPackage } from './event-kinds.ts';
import { countRun, type Measurement } from './index.ts';
import { subtractMeasurement } from './measurement.ts';

/** A PMU as sysfs describes it, with events of each kind. */
const lookup = {
  pmu: (name: string) =>
    name === 'uncore'
      ? {
          name,
          type: 1,
          formats: new Map([['event', 'config:0-7']]),
          events: new Map([
            ['energy', { terms: 'event=2', perPackage: true }],
            ['temperature', { terms: 'event=3', snapshot: true }],
          ]),
        }
      : null,
  pmuNames: () => ['uncore'],
  tracepoint: () => null,
  tracepointNames: () => [],
};

/** Two packages of four CPUs, of which the second has two dies. */
const placeOf = (cpu: number) => ({
  ...{ cpu, core: cpu, node: 0 },
  socket: cpu >> 2,
  die: cpu >= 6 ? 1 : 0,
});

test('an event of a package is opened on one CPU of each, of those that are counted', () => {
  const cpusOf = (counted: number[], own?: string) => {
    const events: ParsedEvent[] = parseEvents('uncore/energy/,uncore/temperature/', lookup);
    if (own !== undefined) events[0]!.cpus = own;
    countOncePerPackage(events, counted, placeOf);
    assert.equal(events[1]!.cpus, undefined);
    return events[0]!.cpus;
  };
  assert.equal(cpusOf([0, 1, 2, 3, 4, 5, 6, 7]), '0,4,6');
  assert.equal(cpusOf([2, 3, 7]), '2,7');
  assert.equal(cpusOf([0, 1, 2, 3, 4, 5, 6, 7], '1-3,5'), '1,5');
});

test('what is a value of now is that in each interval, not a difference', {
  skip: noKernelPart,
}, async () => {
  const events = parseEvents('uncore/temperature/,uncore/energy/', lookup);
  // The kernel's PMU of that number counts page faults for 2 and context switches for 3.
  const intervals: Measurement[] = [];
  await countRun({
    scope: { kind: 'command' },
    command: ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done'],
    control: { events },
    intervalMs: 30,
    onInterval: (interval) => intervals.push(interval),
  });
  const [switches, faults] = [0, 1].map((at) => intervals.map(({ events: sums }) => sums[at]!.count.value));
  assert.ok(intervals.length > 2);
  // A value that only grows, as it stands.
  assert.deepEqual(
    switches,
    [...switches!].sort((a, b) => Number(a! - b!)),
  );
  assert.ok(switches![switches!.length - 1]! > 2n);
  assert.ok(faults!.some((value, at) => at > 0 && value! < faults![at - 1]!));
});

test('the same measurement twice leaves nothing but what is a value of now', async () => {
  let last: Measurement | null = null;
  await countRun({
    scope: { kind: 'command' },
    command: ['true'],
    control: { events: 'faults,task-clock' },
    intervalMs: 1000,
    onInterval: (interval) => {
      last = interval;
    },
  });
  const left = subtractMeasurement(last!, last, new Set(['task-clock']));
  const [faults, clock] = left.events.map(({ count }) => count.value);
  assert.equal(faults, 0n);
  assert.ok(clock! > 0n);
});
