import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertQuick } from '../../test/assert-quick.ts';
import { a57Identity, identity, intelIdentity, zen4Identity } from '../../test/cpu-identities.ts';
import { assignCounters, type PlannedEvent } from './assign.ts';
import { describePmu } from './families.ts';
import type { PmuModel } from './types.ts';

const RAW = 4;
const skylake = describePmu(intelIdentity({ version: 4, general: 4, fixed: 3 }))!;
const watched = describePmu(intelIdentity({ version: 4, general: 4, fixed: 3, nmiWatchdog: true }))!;

interface Wish {
  readonly type?: number;
  readonly config: bigint | number;
  readonly config1?: bigint;
  readonly group?: number;
  readonly pinned?: boolean;
  readonly exclusive?: boolean;
  readonly name?: string;
}

function plan(model: PmuModel, wishes: readonly Wish[]) {
  const events = wishes.map(
    ({ type = RAW, config, config1 = 0n, group, pinned, exclusive, name }, index): PlannedEvent => ({
      name: name ?? `e${index}`,
      attr: {
        type,
        config: BigInt(config),
        config1,
        flags: { pinned: pinned ? 1 : 0, exclusive: exclusive ? 1 : 0 },
      },
      group: group ?? null,
    }),
  );
  return assignCounters(model, events);
}

/** `fixed 0`, `general 3`; the reason where there is none; the kind else. */
function shown(model: PmuModel, wishes: readonly Wish[]): string[] {
  return plan(model, wishes).events.map((placement) => {
    if (placement.kind === 'counter') {
      return placement.counters.map((counter) => model.counters[counter]!.name.split(' (')[0]).join('+');
    }
    return placement.kind === 'unschedulable' ? placement.reason : placement.kind;
  });
}

/** `count` raw events that any general counter counts, in a group. */
function generals(count: number, group?: number): Wish[] {
  return Array.from({ length: count }, (_, index) => ({
    config: 0x10 + index,
    ...(group === undefined ? {} : { group }),
  }));
}

test('generic, raw and cache events get counters, software and foreign events none', () => {
  assert.deepEqual(
    shown(skylake, [
      { type: 0, config: 0 },
      { type: 0, config: 1 },
      { type: 0, config: 9 },
      { config: 0x1b7, config1: 1n },
      { type: 3, config: 0x1_0000 },
      { type: 1, config: 1 },
      { type: 2, config: 300 },
      { type: 5, config: 0 },
      { type: 23, config: 1 },
      { type: 0, config: 23n << 32n },
    ]),
    [
      'fixed 1',
      'fixed 0',
      'fixed 2',
      'general 0',
      'general 1',
      'software',
      'software',
      'software',
      'other-pmu',
      'other-pmu',
    ],
  );
});

test('an event that the CPU has not is refused by name', () => {
  assert.match(shown(skylake, [{ type: 0, config: 7 }])[0]!, /no event for stalled-cycles-frontend/);
  assert.match(shown(skylake, [{ config: 0x0400 }])[0]!, /stands for a fixed counter/);
  const zen = describePmu(zen4Identity)!;
  assert.match(shown(zen, [{ type: 3, config: 2 }])[0]!, /no event for LLC-load-refs/);
});

test('a group with more events than counters says both numbers', () => {
  const group = [{ type: 0, config: 0, group: 1 }, ...generals(8, 1)];
  for (const reason of shown(skylake, group))
    assert.equal(reason, 'the group needs 9 counters, but the PMU has 7');
});

test('a group that would fit by number names those in the way', () => {
  const reasons = shown(skylake, generals(5, 1));
  assert.match(
    reasons[0]!,
    /^the 5 events e0, e1, e2, e3 and e4 need 5 of the counters general 0, general 1, general 2 and general 3, and those are 4$/,
  );
  assert.match(plan(skylake, generals(5, 1)).events[0]!.kind, /unschedulable/);
});

test('two events that need the same counter are named', () => {
  const f15h = describePmu(
    identity({ architecture: 'x86', vendor: 'AuthenticAMD', family: 0x15, flags: ['perfctr_core'] }),
  )!;
  const reasons = shown(f15h, [
    { config: 0x03, group: 1, name: 'flops' },
    { config: 0x76, group: 1 },
    { config: 0x2d, group: 1, name: 'tsc' },
  ]);
  assert.equal(reasons[0], 'events flops and tsc both need counter general 3');
});

test('registers beside the counters: two off-core responses fit, three do not, equal ones share', () => {
  const offcore = (config1: bigint) => ({ config: 0x1b7, config1, group: 1 });
  assert.deepEqual(shown(skylake, [offcore(1n), offcore(2n), offcore(2n)]), [
    'general 0',
    'general 1',
    'general 2',
  ]);
  assert.equal(
    shown(skylake, [offcore(1n), offcore(2n), offcore(3n)])[0],
    'e0, e1 and e2 need different values of the offcore-response register, which holds 2 values at a time',
  );
});

test('top-down metrics want slots as their leader', () => {
  const model = describePmu(
    intelIdentity({ version: 5, general: 8, fixed: 4, events: ['slots', 'topdown-retiring'] }),
  )!;
  const slots = { config: 0x0400, group: 1 };
  const retiring = { config: 0x8000, group: 1, name: 'topdown-retiring' };
  assert.deepEqual(shown(model, [slots, retiring]), ['fixed 3', 'metric 0']);
  assert.match(shown(model, [retiring, slots])[0]!, /led by slots/);
});

test('the NMI watchdog holds cycles: what then has no counter is told how to get it', () => {
  assert.deepEqual(shown(watched, [{ type: 0, config: 0 }]), ['general 0']);
  const group = [{ type: 0, config: 0, group: 1 }, ...generals(4, 1)];
  assert.deepEqual(shown(skylake, group), ['fixed 1', 'general 0', 'general 1', 'general 2', 'general 3']);
  const { events, held } = plan(watched, group);
  const placement = events[0]!;
  assert.equal(placement.kind, 'unschedulable');
  assert.ok(
    placement.kind === 'unschedulable' && /^the NMI watchdog holds one counter; /.test(placement.reason),
  );
  assert.match(placement.remedy, /kernel\.nmi_watchdog=0/);
  assert.deepEqual(held, [{ holder: 'the NMI watchdog', counters: [5] }]);
  assert.deepEqual(plan(watched, [{ config: 0x10 }]).held, [{ holder: 'the NMI watchdog', counters: [5] }]);
});

test('more events than counters take turns, and their shares add up to the counters', () => {
  const { groups, events } = plan(skylake, generals(8));
  assert.ok(events.every(({ kind }) => kind === 'counter'));
  for (const { share } of groups) assert.ok(Math.abs(share - 0.5) < 0.02, String(share));
  assert.deepEqual(
    plan(skylake, generals(4)).groups.map(({ share }) => share),
    [1, 1, 1, 1],
  );
});

test('pinned events always count; who needs their counter never does', () => {
  const pinned = generals(4).map((wish) => ({ ...wish, pinned: true }));
  const { groups, events } = plan(skylake, [
    ...pinned,
    { config: 0x99, name: 'late' },
    { type: 0, config: 1 },
  ]);
  assert.deepEqual(
    groups.map(({ share }) => share),
    [1, 1, 1, 1, 0, 1],
  );
  const late = events[4]!;
  assert.ok(
    late.kind === 'unschedulable' &&
      /^pinned events come first; late would need general 0.* where 5 events then had to fit on 4$/.test(
        late.reason,
      ),
    JSON.stringify(late),
  );
  const tooMany = plan(skylake, [...pinned, { config: 0x99, pinned: true }]);
  assert.equal(tooMany.events[4]!.kind, 'unschedulable');
});

test('an exclusive group counts alone', () => {
  const { groups } = plan(skylake, [{ config: 0x10, exclusive: true }, { config: 0x11 }]);
  assert.ok(groups.every(({ share }) => share > 0.4 && share < 0.6));
});

test('Armv8: long events in pairs, cycles beside them', () => {
  const model = describePmu(a57Identity)!;
  const long = (config: number) => ({ config, config1: 1n, group: 1 });
  assert.deepEqual(
    shown(model, [{ type: 0, config: 0, group: 1 }, long(8), long(3), { config: 4, group: 1 }]),
    ['cycle counter', 'general 0+general 1', 'general 2+general 3', 'general 4'],
  );
  assert.equal(
    shown(model, [long(8), long(3), long(4), long(5)])[0],
    'the group needs 8 counters, but the PMU has 7',
  );
});

test('a thousand events are planned quickly', async () => {
  await assertQuick(5000, () => {
    const { events } = plan(skylake, generals(1000));
    assert.ok(events.every((placement) => placement.kind === 'counter' && placement.counters.length === 1));
  });
});
