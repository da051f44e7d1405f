/**
 * Mutated event lists, filters and lists of libpfm4: nothing is thrown but the error that points into the
 * text, and what is read holds together: groups have one leader, names can be read again and mean the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeAttr } from '../../format/records/index.ts';
import { eventFixture, inventedMachine } from '../../test/invented-machine.ts';
import { Random } from '../../test/random.ts';
import { EventSyntaxError } from './errors.ts';
import { checkFilter } from './filter.ts';
import { isGlob } from './glob.ts';
import { parseEvents } from './parse.ts';
import { type PfmLibrary, parsePfmEvents } from './pfm.ts';
import type { ParsedEvent } from './types.ts';

const PIECES = [
  ...'{ } : , / = \' " @ * ? [ ] ( ) ! && || == 0x -1 + u k pp P cpu= name= period= config= event= ldlat='.split(
    ' ',
  ),
  ...'cpu/ uprobe: uretprobe: kprobe: mem: sched: tool/ /usr/lib/libx.so.1: main malloc+4 0x1130 cycles cs L1-dcache'.split(
    ' ',
  ),
  ...[' ', '\t', '\u0000', 'é', '99999999999999999999', 'prev_pid', 'CPUS{0-3}', '"b*"', '::'],
];

const textsOf = (name: string) =>
  eventFixture(name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('  '));

const MACHINES = [
  { lookup: inventedMachine(), texts: [...textsOf('texts.txt'), ...textsOf('by-hand.txt')] },
  {
    lookup: inventedMachine('hybrid/'),
    texts: [...textsOf('hybrid/texts.txt'), ...textsOf('hybrid/by-hand.txt')],
  },
];
const FILTERS = [
  'prev_pid == 1 && prev_comm ~ "b*"',
  '!(CPU & CPUS{0-1}) || next_prio >= 0x10',
  "comm != 'x y'",
];
const FIELDS = MACHINES[0]!.lookup.tracepointFields!('sched', 'sched_switch');

function mutate(random: Random, text: string, others: readonly string[]): string {
  const at = random.below(text.length + 1);
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at) + text.slice(at + random.below(6));
    case 1:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(at);
    case 2:
      return (
        text.slice(0, at) + text.slice(at, at + random.below(9)).repeat(random.below(5)) + text.slice(at)
      );
    case 3:
      return `${text},${random.pick(others)}`;
    default:
      return text.slice(0, at) + random.pick(others).slice(random.below(10));
  }
}

/** Runs `read`; gives what it read, or `null` where it refused the text in the right way. */
function attempt<T>(text: string, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof EventSyntaxError, `${JSON.stringify(text)}: ${String(error)}`);
    assert.ok(error.column >= 0, text);
    // A term of the kernel's own table is shown in that table's text.
    if (error.text === text) assert.ok(error.column <= text.length, text);
    return null;
  }
}

function checkEvents(text: string, events: readonly ParsedEvent[], machine: (typeof MACHINES)[number]): void {
  const leaders = new Set<number>();
  for (const event of events) {
    assert.ok(event.name.length > 0, text);
    assert.equal(encodeAttr(event.attr).length, 144);
    if (event.group === null) assert.ok(event.isLeader, text);
    else assert.equal(event.isLeader, !leaders.has(event.group), text);
    if (event.group !== null) leaders.add(event.group);
    if (event.options.cpus === undefined) checkName(event, machine);
  }
}

/** A name that was not given by the user (`name=`), and stands for one event, is the event. */
function checkName(event: ParsedEvent, { lookup }: (typeof MACHINES)[number]): void {
  const typed = event.requestedName ?? event.name;
  if (/\bname\s*=|metric-id|@/.test(typed) || isGlob(event.name)) return;
  // `cpu_core/cpu-cycles/` is the PMU's own event of that name; perf has the same two for the one.
  if (
    event.pmu !== undefined &&
    [...(lookup.pmu(event.pmu)?.events.keys() ?? [])].some((own) => event.name.includes(own))
  )
    return;
  const again = attempt(event.name, () => parseEvents(event.name, lookup));
  assert.ok(again !== null && again.length > 0, `${event.name} cannot be read again`);
  const same = again.some(({ attr }) => attr.type === event.attr.type && attr.config === event.attr.config);
  assert.ok(same, `${event.name} is another event when it is read again`);
}

/** A libpfm that knows two events, and refuses the rest as the real one does. */
const fakeLibrary: PfmLibrary = {
  encode: (name) => ({
    part: name.includes('=') ? 'value' : name.includes(':') ? 'attribute' : 'event',
    text: 'refused',
  }),
  pmus: () => [
    { name: 'skx', description: '', isPresent: true, counters: 4, fixedCounters: 3, firstEvent: 0 },
  ],
  events: () => [{ name: 'L2_RQSTS', description: '', index: 0, attributeCount: 1 }],
  attributes: () => [{ name: 'MISS', description: '', isUnitMask: true, isDefault: false }],
};

test('mutated event lists, filters and lists of libpfm4', () => {
  const seconds = Number(process.env.FUZZ_SECONDS ?? 1);
  const seed = process.env.FUZZ_SECONDS === undefined ? 1 : Date.now() | 1;
  const random = new Random(seed);
  const end = performance.now() + seconds * 1000;
  let accepted = 0;
  let tried = 0;
  do {
    tried++;
    const machine = random.pick(MACHINES);
    let text = random.pick(machine.texts);
    for (let count = random.below(4); count > 0; count--) text = mutate(random, text, machine.texts);
    const start = performance.now();
    const events = attempt(text, () => parseEvents(text, machine.lookup));
    if (events !== null) {
      checkEvents(text, events, machine);
      accepted++;
    }
    let filter = random.pick(FILTERS);
    for (let count = random.below(4); count > 0; count--) filter = mutate(random, filter, FILTERS);
    attempt(filter, () => checkFilter(filter, FIELDS));
    attempt(text, () => parsePfmEvents(text, fakeLibrary));
    const spent = performance.now() - start;
    assert.ok(spent < 1500, `seed ${seed}: ${spent} ms for ${JSON.stringify(text)}`);
    // Wall time: a fuzzer runs for so long.
  } while (performance.now() < end);
  // A busy machine tries few of them.
  assert.ok(accepted > tried / 20, `only ${accepted} of ${tried} lists were accepted`);
});
