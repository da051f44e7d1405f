import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CounterpointError } from '../../base/index.ts';
import { assertQuick } from '../../test/assert-quick.ts';
import { eventFixture, inventedMachine } from '../../test/invented-machine.ts';
import { eventNameFromAttr } from './attr-name.ts';
import { EventSyntaxError } from './errors.ts';
import { largestValue, parseFormat, placeBits } from './format-bits.ts';
import { isGlob, matchesGlob } from './glob.ts';
import { cacheEventNames, NAMED_EVENTS } from './names.ts';
import { parseEvents } from './parse.ts';
import type { EventLookup } from './types.ts';

const lookup = inventedMachine();
const parse = (text: string) => parseEvents(text, lookup);
const parseOne = (text: string) => {
  const events = parse(text);
  assert.equal(events.length, 1);
  return events[0]!;
};

function failure(text: string, machine: EventLookup = lookup): EventSyntaxError {
  try {
    parseEvents(text, machine);
  } catch (error) {
    assert.ok(error instanceof EventSyntaxError, String(error));
    return error;
  }
  return assert.fail(`${text} was accepted`);
}

test('a term without a value is 1, as in perf, where it is a number', () => {
  const event = parseOne('cycles/period=100000,config2/');
  assert.deepEqual([event.attr.samplePeriodOrFreq, event.attr.config2], [100_000n, 1n]);
  const bare = parseOne('cycles/freq,max-stack/');
  assert.deepEqual([bare.attr.samplePeriodOrFreq, bare.options.maxStack], [1n, 1]);
  assert.match(failure('cycles/name/').message, /name= needs a value/);
});

test('an error points at its place and names what was meant', () => {
  assert.equal(
    failure('cpu-clock,cycels:u').message,
    "event syntax error: 'cpu-clock,cycels:u'\n                               \\___ unknown event; did you mean cycles?",
  );
  const table: [string, number, RegExp][] = [
    ['cycels', 0, /^unknown event; did you mean cycles\?$/],
    ['L1-dcache-lod-misses', 0, /did you mean L1-dcache-load-misses/],
    ['L1-icache-stores', 0, /^L1-icache has no stores$/],
    ['cycles:ux', 8, /^bad modifier 'x'/],
    ['cycles:uku', 9, /'u' stands twice/],
    ['cycles:pppp', 10, /at most ppp/],
    ['cycles,{cs,faults}:q', 19, /^bad modifier 'q'/],
    ['sched:sched_swich', 6, /^unknown tracepoint of sched; did you mean sched:sched_switch\?$/],
    ['schd:sched_switch', 0, /^unknown tracepoint; did you mean sched:…\?$/],
    ['sched:nothing*', 0, /^no tracepoint matches$/],
    ['cpu', 0, /^cpu is a PMU, not an event; write cpu\/event=…\/$/],
    ['cpuu/event=1/', 0, /^this machine has no PMU cpuu; did you mean cpu\?$/],
    ['cpu/evnt=1/', 4, /^unknown term 'evnt' for PMU cpu; did you mean event\?$/],
    ['cpu/event=1,mem-laods/', 12, /^PMU cpu has no event or term mem-laods; did you mean mem-loads\?$/],
    ['cycles:u:k', 8, /^modifiers must stand together after one colon: write :uk$/],
    ['cycles:uk:', 9, /^modifiers must stand together after one colon: write :uk$/],
    ['cycles::z', 7, /^modifiers must stand together after one colon$/],
    ['sched:*swich*', 0, /^no tracepoint matches; did you mean sched:\*switch\*\?$/],
    ['shed:*switch', 0, /^no tracepoint matches; did you mean sched:\*switch\?$/],
    [
      'uprobe/path=/bin/true,func=main/',
      0,
      /^a probe has no terms between slashes; write uprobe:FILE:FUNCTION$/,
    ],
    ['cs,kretprobe/func=x/', 3, /write kretprobe:FUNCTION$/],
    ['cpu/event=-1/', 10, /^event= expects a number or an event of cpu$/],
    ['cpu/event=mem-laods/', 10, /expects a number or an event of cpu; did you mean mem-loads\?$/],
    ['cpu/event=0x1ff/', 10, /^value too big for event: at most 255$/],
    ['cpu/event=0x1/u,cycles/evnt=1/', 23, /^unknown term 'evnt' for cycles$/],
    ['sched:sched_switch/config=1/', 19, /^unknown term 'config'/],
    ['cpu/event=/', 10, /^event= needs a value$/],
    ['cpu/event=1,/', 12, /^expected a term, found the end$/],
    ["cpu/name='x,event=1/", 9, /quote is missing/],
    ['cpu/event=1', 3, /closing slash is missing/],
    ['cycles/period=x/', 14, /^period= expects a number$/],
    ['cycles/time=2/', 12, /^time is at most 1$/],
    ['cycles/inherit=2/', 15, /^inherit= expects 0 or 1$/],
    ['cycles/name/', 7, /^name= needs a value$/],
    ['cycles/call-graph=dwaf/', 18, /did you mean dwarf\?$/],
    ['cycles/branch_type=any|zzz/', 19, /^branch_type= expects u, k/],
    ['cycles/freq=18446744073709551616/', 12, /number/],
    ['r1ffffffffffffffffff', 1, /at most 16 digits$/],
    ['mem:0xffffffffffffffffff:rw', 4, /at most 16 digits$/],
    ['mem:zzz', 4, /^mem: expects an address/],
    ['mem:0x10/3:r', 9, /^the length of a breakpoint must be 1, 2, 4 or 8$/],
    ['mem:0x10:rr', 10, /at most once$/],
    ['cycles,,cs', 7, /^expected an event, found ','$/],
    ['cycles,', 7, /^expected an event, found the end$/],
    ['', 0, /^expected an event, found the end$/],
    ['{cs', 0, /not closed/],
    ['{cs,{faults}}', 4, /^expected an event, found '\{'$/],
    ['cs}', 2, /^unexpected '\}'$/],
    ['{cs}u', 4, /^expected , or : after }$/],
    ['cs{faults}x', 10, /^expected , or : after }$/],
    ['cycles:u/period=1/', 7, /modifiers must follow the last slash/],
  ];
  for (const [text, column, reason] of table) {
    const error = failure(text);
    assert.match(error.reason, reason, text);
    assert.equal(error.column, column, `${text}: ${error.reason}`);
    assert.equal(error.code, 'ERR_EVENT_SYNTAX');
  }
  assert.match(failure('cpu/evnt=1/').remedy, /^Known terms: .*event/);
});

test('a long list is cut around the place', () => {
  const [first, second] = failure(`${'cycles,'.repeat(100)}xyzzy,${'cycles,'.repeat(100)}cs`).message.split(
    '\n',
  );
  assert.ok(first!.length < 130);
  const column = second!.indexOf('\\');
  assert.equal(first!.slice(column, column + 5), 'xyzzy');
});

test('tracepoints that cannot be looked up say why, and misspelt events are not taken for them', () => {
  const ordinary: EventLookup = {
    ...lookup,
    tracepoint: () => ({ unavailable: 'only root reads tracefs', remedy: 'Run it as root.' }),
    tracepointNames: () => [],
  };
  for (const text of ['sched:sched_switch', 'sched:*']) {
    const error = failure(text, ordinary);
    assert.deepEqual([error.reason, error.remedy], ['only root reads tracefs', 'Run it as root.']);
  }
  assert.match(failure('cycels:u', ordinary).reason, /did you mean cycles/);
});

test('terms and modifiers that are not in the attr are kept beside it', () => {
  const event = parseOne(
    'cpu-clock/period=1000,time=0,call-graph=dwarf,stack-size=1024,max-stack=9,nr=5,no-inherit,overwrite,' +
      "percore,aux-output,aux-sample-size=64,aux-action=pause,branch_type=any|u,metric-id=m,@cfg=a,@b,name='my event'/PSWb",
  );
  assert.equal(event.name, 'my event');
  assert.equal(event.attr.samplePeriodOrFreq, 1000n);
  assert.equal(event.attr.flags.freq, 0);
  assert.equal(event.periodGiven, true);
  assert.deepEqual(event.options, {
    time: false,
    callGraph: 'dwarf',
    stackSizeBytes: 1024,
    maxStack: 9,
    maxEvents: 5,
    inherit: false,
    overwrite: true,
    perCore: true,
    auxOutput: true,
    auxSampleSizeBytes: 64,
    auxAction: 'pause',
    branchType: 'any|u',
    metricId: 'm',
    driverConfig: ['cfg=a', 'b'],
    mostPrecise: true,
    sampleRead: true,
    weakGroup: true,
    bpfCounter: true,
  });
  const frequent = parseOne('cycles/freq=99/u');
  assert.deepEqual([frequent.attr.samplePeriodOrFreq, frequent.attr.flags.freq], [99n, 1]);
  const tracepoint = parseOne('sched:sched_switch');
  assert.deepEqual([tracepoint.attr.samplePeriodOrFreq, tracepoint.periodGiven], [1n, false]);
  assert.deepEqual(tracepoint.tracepoint, { system: 'sched', name: 'sched_switch' });
});

test('groups are numbered, named, and led by their first event', () => {
  const events = parseEvents('cs, first{cycles,sched:sched_w*}:S , {faults}', lookup, { firstGroup: 4 });
  assert.deepEqual(
    events.map(({ name, group, groupName, isLeader }) => [name, group, groupName, isLeader]),
    [
      ['cs', null, undefined, true],
      ['cycles', 4, 'first', true],
      ['sched:sched_wakeup', 4, 'first', false],
      ['sched:sched_wakeup_new', 4, 'first', false],
      ['faults', 5, undefined, true],
    ],
  );
  assert.deepEqual(
    events.map(({ options }) => options.sampleRead === true),
    [false, true, true, true, false],
  );
});

test('the kernel’s own events bring unit, scale and CPUs', () => {
  const event = parseOne('uncore_imc_0/cas_count_read/');
  assert.deepEqual(
    [event.unit, event.scale, event.cpus, event.pmu],
    ['MiB', 6.103515625e-5, '0', 'uncore_imc_0'],
  );
  assert.equal(parseOne('topdown-total-slots').scale, 4);
  assert.equal(parseOne('duration_time').tool, 'duration_time');
});

test('parameters of the kernel’s events come from the user', () => {
  const machine: EventLookup = {
    ...lookup,
    pmu: (name) =>
      name === 'hv_24x7'
        ? {
            name,
            type: 50,
            formats: new Map([
              ['domain', 'config:0-3'],
              ['core', 'config:16-31'],
              ['odd', 'elsewhere:1'],
            ]),
            events: new Map([['PM_X', { terms: 'domain=2,core=?' }]]),
          }
        : null,
  };
  assert.equal(parseEvents('hv_24x7/PM_X,core=7/', machine)[0]!.attr.config, 0x70002n);
  assert.match(failure('hv_24x7/PM_X/', machine).reason, /^PM_X needs core=$/);
  assert.match(failure('hv_24x7/odd=1/', machine).reason, /unknown form: elsewhere:1$/);
});

test('every name that is listed is read, and generic ones come back from the attr', () => {
  for (const name of [...NAMED_EVENTS.keys(), ...cacheEventNames()]) assert.equal(parseOne(name).name, name);
  for (const name of cacheEventNames()) assert.equal(eventNameFromAttr(parseOne(name).attr), name);
  for (const name of ['cycles', 'ref-cycles', 'cpu-clock', 'cgroup-switches', 'cycles:k', 'cycles:G']) {
    assert.equal(eventNameFromAttr(parseOne(name).attr), name);
  }
});

test('formats: split ranges, whole words, and what is none', () => {
  const format = parseFormat('config:0-7,32-35,59')!;
  assert.equal(largestValue(format), 0x1fffn);
  assert.deepEqual(placeBits(format, 0x1abcn), { word: 0x8000_00a_0000_00bcn, mask: 0x8000_00f_0000_00ffn });
  assert.equal(parseFormat('config2')!.bits.length, 64);
  for (const text of [
    '',
    'config5:0',
    'config:',
    'config:64',
    'config:3-1',
    'config:0-63,0',
    'x:1',
    'config:1:2',
  ]) {
    assert.equal(parseFormat(text), null, text);
  }
});

test('wildcards equal the same pattern as a regular expression', async () => {
  const piece = fc.constantFrom('a', 'b', '-', '*', '?', '[ab]', '[!a]', '[a-b]', '[', '.');
  const pattern = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', '[', '.'), maxLength: 8 });
  fc.assert(
    fc.property(pattern, text, (pattern, text) => {
      const source = pattern.replace(/\[!?[ab-]+\]|[*?]|./g, (part) =>
        part === '*'
          ? '.*'
          : part === '?'
            ? '.'
            : part.length > 2
              ? part.replace('!', '^')
              : `\\${part.replace(/[a-z]/, (letter) => `x${letter.charCodeAt(0).toString(16)}`)}`,
      );
      // A bracket that a later piece closes is a set in both; the two readings of `[` alone
      // are compared elsewhere.
      fc.pre(!/\[(?!!?[ab-]+\])/.test(pattern));
      assert.equal(matchesGlob(text, pattern), new RegExp(`^${source}$`).test(text), `${pattern} on ${text}`);
    }),
    { numRuns: 500 },
  );
  assert.equal(isGlob('sched_switch'), false);
  assert.equal(matchesGlob('a[b', 'a[b'), true);
  await assertQuick(1000, () => assert.equal(matchesGlob('a'.repeat(5000), `${'*a'.repeat(500)}b`), false));
});

test('no text makes the parser throw anything but its error, or take long', () => {
  const words = eventFixture('texts.txt').split('\n');
  const part = fc.oneof(
    fc.constantFrom(...words),
    fc.constantFrom(
      ..."{}/:,='@*?[]- 0x\n\t",
      'é',
      '\u0000',
      'mem:',
      'cpu/',
      'name=',
      '99999999999999999999',
    ),
    fc.string({ maxLength: 6 }),
  );
  const started = performance.now();
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.nat(40), fc.nat(8), (parts, cutAt, cutLength) => {
      const whole = parts.join('');
      const text = whole.slice(0, cutAt) + whole.slice(cutAt + cutLength);
      try {
        for (const event of parse(text)) eventNameFromAttr(event.attr);
      } catch (error) {
        assert.ok(error instanceof CounterpointError, `${JSON.stringify(text)}: ${String(error)}`);
        assert.ok((error as EventSyntaxError).column <= text.length);
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(performance.now() - started < 10_000);
  assert.match(failure('cycles,'.repeat(20_000)).reason, /longer than 65536 characters/);
  const many: EventLookup = {
    ...lookup,
    tracepointNames: () => Array.from({ length: 9000 }, (_, index) => `sched:e${index}`),
    tracepoint: () => 1,
  };
  assert.match(failure('sched:*', many).reason, /more than 8192 events/);
  assert.match(
    failure(
      'sched:e1*,sched:*1,sched:*2,sched:*3,sched:*4,sched:*5,sched:*6,sched:*7,sched:*8,sched:*9',
      many,
    ).reason,
    /more than 8192 events/,
  );
});

test('zeros in front and modifiers right behind an access change nothing', () => {
  const attrOf = (text: string) => parseEvents(text, lookup)[0]!.attr;
  assert.deepEqual(attrOf('mem:0x00000000000000001000:wu'), attrOf('mem:0x1000:w:u'));
  assert.deepEqual(attrOf('r000000000000000001a8'), attrOf('r1a8'));
});
