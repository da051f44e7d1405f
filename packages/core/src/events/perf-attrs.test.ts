import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ATTR_FIELDS, ATTR_FLAGS, PERF_TYPE_BREAKPOINT } from '../abi/index.ts';
import type { AttrFlags, PerfEventAttr } from '../records/index.ts';
import { eventFixture, inventedMachine } from '../test/invented-machine.ts';
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
};

interface Row {
  text: string;
  events: string[];
  error: string | null;
}

function rows(): Row[] {
  const table: Row[] = [];
  for (const line of eventFixture('perf-6.1.txt').split('\n').slice(0, -1)) {
    const last = table.at(-1);
    // A list may begin with a blank, never with two.
    if (!line.startsWith('  ')) table.push({ text: line, events: [], error: null });
    else if (line.startsWith('  error: ')) last!.error = line.slice('  error: '.length);
    else last!.events.push(line.slice(2));
  }
  return table;
}

/** Written as the fixture writes it, by the kernel's names. */
function describe(event: ParsedEvent, all: ParsedEvent[]): string {
  const { attr } = event;
  const fields: string[] = [];
  const put = (name: string, value: number | bigint) => {
    if (BigInt(value) !== 0n) fields.push(`${name}=0x${value.toString(16)}`);
  };
  const isBreakpoint = attr.type === PERF_TYPE_BREAKPOINT;
  for (const [name, kernelName] of ATTR_FIELDS) {
    if (name === 'flags') {
      for (const [flag, kernelFlag] of ATTR_FLAGS) {
        if (flag !== 'freq') put(kernelFlag, attr.flags[flag as keyof AttrFlags]);
      }
    } else if (!['size', 'samplePeriodOrFreq', 'breakpointType', 'config1', 'config2'].includes(name)) {
      put(kernelName, attr[name as keyof PerfEventAttr] as number | bigint);
    }
  }
  put('bp_type', attr.breakpointType);
  put(isBreakpoint ? 'bp_addr' : 'config1', attr.config1);
  put(isBreakpoint ? 'bp_len' : 'config2', attr.config2);
  if (event.group !== null && !event.isLeader) {
    fields.push(`leader=${all.findIndex(({ group }) => group === event.group)}`);
  }
  if (event.unit !== undefined) fields.push(`unit=${event.unit}`);
  // perf cuts the name of a breakpoint at its slash; the length belongs to what was asked for.
  const name = event.name.replace(/^(mem:\w+)\/.*/, '$1');
  return [name, ...fields].join(' | ');
}

test('attrs and names equal those of perf 6.1', () => {
  const lookup = inventedMachine();
  let compared = 0;
  for (const { text, events, error } of rows()) {
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
    if (Object.hasOwn(DIFFERS, text)) {
      assert.equal(Array.isArray(ours), error !== null, `${text} no longer differs: ${DIFFERS[text]}`);
      continue;
    }
    if (error !== null) {
      assert.ok(!Array.isArray(ours), `${text}: perf says ${error}`);
    } else {
      assert.ok(Array.isArray(ours), `${text}: ${String(ours)}`);
      // The order of a directory is not a fact.
      const ordered = (lines: string[]) =>
        /[*]|imc|clockticks|cas_count/.test(text) ? [...lines].sort() : lines;
      assert.deepEqual(ordered(ours), ordered(events), text);
    }
    compared++;
  }
  assert.ok(compared > 200, `only ${compared} lists were compared`);
});
