import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTR_FIELDS, ATTR_FLAGS, ATTR_KERNEL_NAMES, PERF_TYPE_BREAKPOINT } from '../../format/abi/index.ts';
import type { PerfEventAttr } from '../../format/records/index.ts';
import { eventFixture, inventedMachine } from '../../test/invented-machine.ts';
import { EventSyntaxError } from './errors.ts';
import { parseEvents } from './parse.ts';
import type { ParsedEvent } from './types.ts';

/** Where we mean to differ from perf 6.1, and why. */
const DIFFERS: Record<string, string> = {
  r0x3c: 'later versions of perf read it',
  'cycles//:u': 'a colon after the slash does no harm',
  'cpu/config3=1/': 'newer than 6.1',
  '*:sched_switch': 'wildcards in the system name work in a real tracefs',
  'sched:sched_switch/period=7/': 'the kernel has periods for tracepoints',
  "cpu/mem-loads,name='loads with lat'/": 'blanks inside quotes',
  'imc*/clockticks/': 'later versions of perf match wildcards',
  'uncore_*/clockticks/': 'later versions of perf match wildcards',
  '{cpu-clock': 'a group that is not closed is a mistake',
  'cpu/event=0x1,event=0x2/': 'perf gives the kernel a third event, 3',
  'cpu/cycles/': 'later versions of perf know generic events between slashes',
  'cpu/instructions/': 'the same',
  'cpu/L1-dcache-loads/': 'the same',
  'hybrid/L1-dcache-load-misses': 'perf 6.1 fails on cache events of several kinds of core',
  'hybrid/LLC-loads:k': 'the same',
  'hybrid/cpu_core/L1-dcache-loads/': 'the same',
  'hybrid/{cycles,instructions}':
    'perf 6.1 fails on groups of several kinds of core; later versions split them',
  'hybrid/{cycles,cs}': 'the same',
  'hybrid/{cpu_core/cycles/,cpu_core/instructions/}': 'perf 6.1 finds no group leader in an invented machine',
  'hybrid/{cpu_core/cycles/,cpu_atom/cycles/}': 'the same; the kernel refuses it',
  'hybrid/{uncore_imc/cas/,uncore_imc/clockticks/}': 'the same; split as later versions do',
  'hybrid/cpu_*/event=1/': 'later versions of perf match wildcards',
};

/** Accepted by both with another attr, and why. */
const OTHER_ATTR: Record<string, string> = {
  'cpu/mem-loads,ldlat=30/P': 'perf gives the kernel 3 | 30: its own ldlat of mem-loads and ours',
  'cpu/ldlat=30,mem-loads/': 'the same',
  'hybrid/cpu_core/mem-loads,ldlat=30/': 'the same',
  'hybrid/cycles/period=100/': 'perf leaves the event out of its name',
  'hybrid/4:0x3c': 'perf’s name cannot be read again',
  'hybrid/0:0': 'the same',
  'hybrid/{cs,cycles}': 'a software event with two PMUs in one group: split',
};

interface Row {
  text: string;
  events: string[];
  error: string | null;
}

function rows(path: string): Row[] {
  const table: Row[] = [];
  for (const line of eventFixture(path).split('\n').slice(0, -1)) {
    const last = table.at(-1);
    // A list may begin with a blank, never with two.
    if (!line.startsWith('  ')) table.push({ text: line, events: [], error: null });
    else if (line.startsWith('  error: ')) last!.error = line.slice('  error: '.length);
    else last!.events.push(line.slice(2));
  }
  return table;
}

/** Written as the fixture writes it, by the kernel's names. */
function describe(event: ParsedEvent, all: ParsedEvent[], withPeriod = false): string {
  const { attr } = event;
  const fields: string[] = [];
  const put = (name: string, value: number | bigint) => {
    if (BigInt(value) !== 0n) fields.push(`${name}=0x${value.toString(16)}`);
  };
  const isBreakpoint = attr.type === PERF_TYPE_BREAKPOINT;
  for (const [name] of ATTR_FIELDS) {
    if (name === 'flags') {
      for (const [flag] of ATTR_FLAGS) {
        if (withPeriod || flag !== 'freq') put(ATTR_KERNEL_NAMES[flag]!, attr.flags[flag]);
      }
    } else if (!['size', 'samplePeriodOrFreq', 'breakpointType', 'config1', 'config2'].includes(name)) {
      put(ATTR_KERNEL_NAMES[name]!, attr[name as keyof PerfEventAttr] as number | bigint);
    }
  }
  if (withPeriod) put('sample_period', attr.samplePeriodOrFreq);
  put('bp_type', attr.breakpointType);
  put(isBreakpoint ? 'bp_addr' : 'config1', attr.config1);
  put(isBreakpoint ? 'bp_len' : 'config2', attr.config2);
  if (event.group !== null && !event.isLeader) {
    fields.push(`leader=${all.findIndex(({ group }) => group === event.group)}`);
  }
  if (event.unit !== undefined) fields.push(`unit=${event.unit}`);
  // perf cuts the name of a breakpoint at its slash; the length belongs to what was asked for.
  const shortName = event.name.replace(/^(mem:\w+)\/.*/, '$1');
  const name = withPeriod ? shortName : plainName(shortName);
  return [name, ...fields].join(' | ');
}

for (const folder of ['', 'hybrid/']) {
  test(`what perf 6.1 cannot read, or reads otherwise, is as worked out by hand (${folder || 'one kind of core'})`, () => {
    const lookup = inventedMachine(folder);
    for (const { text, events } of rows(`${folder}by-hand.txt`)) {
      const parsed = parseEvents(text, lookup);
      const sorted = (line: string) => {
        const [name, ...facts] = line.split(' | ');
        return [name, ...facts.sort()].join(' | ');
      };
      const ours = parsed.map((event) => sorted(describe(event, parsed, true)));
      const expected = events.map((line) => sorted(line.replace(/^(mem:\w+)\/\w+:\w+/, '$1')));
      assert.deepEqual(ours, expected, text);
    }
  });
}

/** perf 6.1 writes modifiers and names of kinds of core inside the slashes: `cpu_core/cycles:u/`. */
const plainName = (name: string) => name.replace(/^(cpu_(?:core|atom))\/(.*?)(?:\/(\w*)|:(\w+)\/)$/, '$2');

/** Such a name again, in what perf printed. */
const plainLine = (line: string) => {
  const [name = '', ...fields] = line.split(' | ');
  return [plainName(name), ...fields].join(' | ');
};

test('attrs and names equal those of perf 6.1', () => {
  const compared = compare('');
  assert.ok(compared > 200, `only ${compared} lists were compared`);
});

test('on a machine with two kinds of core too', () => {
  const compared = compare('hybrid/');
  assert.ok(compared > 20, `only ${compared} lists were compared`);
});

function compare(folder: string): number {
  const lookup = inventedMachine(folder);
  let compared = 0;
  for (const { text, events, error } of rows(`${folder}perf-6.1.txt`)) {
    if (error?.endsWith("is not usable in 'perf stat'") === true) {
      assert.ok(parseEvents(text, lookup).length > 0, text);
      continue;
    }
    let ours: string[] | EventSyntaxError;
    try {
      const parsed = parseEvents(text, lookup);
      ours = parsed.map((event) => describe(event, parsed));
    } catch (caught) {
      assert.ok(caught instanceof EventSyntaxError, `${text}: ${String(caught)}`);
      ours = caught;
    }
    if (Object.hasOwn(DIFFERS, folder + text)) {
      const why = DIFFERS[folder + text];
      assert.equal(Array.isArray(ours), error !== null, `${text} no longer differs: ${why}`);
      continue;
    }
    // The order of a directory is not a fact.
    const ordered = (lines: string[]) =>
      folder !== '' || /[*]|imc|clockticks|cas_count/.test(text) ? [...lines].sort() : lines;
    if (Object.hasOwn(OTHER_ATTR, folder + text)) {
      assert.ok(Array.isArray(ours), text);
      assert.notDeepEqual(ordered(ours), ordered(events.map(plainLine)), text);
      continue;
    }
    if (error !== null) {
      assert.ok(!Array.isArray(ours), `${text}: perf says ${error}`);
    } else {
      assert.ok(Array.isArray(ours), `${text}: ${String(ours)}`);
      assert.deepEqual(ordered(ours), ordered(events.map(plainLine)), text);
    }
    compared++;
  }
  return compared;
}
