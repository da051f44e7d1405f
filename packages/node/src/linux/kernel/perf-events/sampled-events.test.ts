import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_LOST,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { type EventLookup, type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import { CAP_PERFMON } from '../probe/index.ts';
import { type FakeEvent, FakeSys } from '../sys/fake-sys.ts';
import { liveHandles } from '../sys/index.ts';
import {
  defaultEvent,
  type Note,
  openSampledEvents,
  PermissionError,
  type PlannedEvent,
  planEvents,
  planOpen,
  type SamplingOptions,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const NUMBERS: ReadonlyMap<string, number> = new Map([
  ['sched:sched_switch', 314],
  ['ftrace:function', 1],
]);

const lookup: EventLookup = {
  pmu: () => null,
  pmuNames: () => [],
  tracepoint: (system, name) => NUMBERS.get(`${system}:${name}`) ?? null,
  tracepointNames: () => ['sched:sched_switch'],
};
const parse = (text: string): ParsedEvent[] => parseEvents(text, lookup);

const OPTIONS: SamplingOptions = {
  frequency: 4000,
  isRateGiven: false,
  callchains: 'none',
  inherit: true,
  wholeCpus: false,
  enableOnExec: true,
  startsLater: false,
  levels: 'all',
};
const plan = (text: string, options: Partial<SamplingOptions> = {}) =>
  planEvents(parse(text), { ...OPTIONS, ...options });
const has = (bits: bigint, bit: number) => (bits & BigInt(bit)) !== 0n;

describe('planEvents', () => {
  test('a command, one event: as perf record -F 25000 -g sets it (perf evlist -v, perf 6.1)', () => {
    const [event] = plan('cpu-clock', { frequency: 25_000, isRateGiven: true, callchains: 'both' });
    const { attr } = event!;
    // sample_type: IP|TID|TIME|CALLCHAIN|PERIOD, read_format: ID|LOST
    assert.equal(attr.sampleType, 0x1n | 0x2n | 0x4n | 0x20n | 0x100n);
    assert.equal(attr.readFormat, 0x4n | 0x10n);
    assert.equal(attr.samplePeriodOrFreq, 25_000n);
    const set = Object.entries(attr.flags).filter(([, value]) => value === 1);
    assert.deepEqual(set.map(([name]) => name).sort(), [
      'bpfEvent',
      'comm',
      'commExec',
      'disabled',
      'enableOnExec',
      'excludeGuest',
      'freq',
      'inherit',
      'ksymbol',
      'mmap',
      'mmap2',
      'sampleIdAll',
      'task',
    ]);
  });

  test('the period that a table suggests gives way to one that is given, and to a frequency', () => {
    const [parsed] = parse('cpu-clock');
    const rate = (more: Partial<ParsedEvent>, options: Partial<SamplingOptions> = {}) => {
      const [{ attr }] = planEvents([{ ...parsed!, suggestedPeriod: 2003n, ...more }], {
        ...OPTIONS,
        ...options,
      }) as [PlannedEvent];
      return [attr.samplePeriodOrFreq, attr.flags.freq];
    };
    assert.deepEqual(rate({}), [2003n, 0]);
    assert.deepEqual(rate({}, { isRateGiven: true, frequency: 99 }), [99n, 1]);
    assert.deepEqual(rate({}, { isRateGiven: true, period: 7n }), [7n, 0]);
    const given = { ...parsed!.attr, samplePeriodOrFreq: 5n };
    assert.deepEqual(rate({ attr: given, periodGiven: true }), [5n, 0]);
  });

  test('several events have ids in front; only the first reports maps', () => {
    const events = plan('cpu-clock,task-clock');
    assert.ok(events.every(({ attr }) => has(attr.sampleType, PERF_SAMPLE_IDENTIFIER)));
    assert.deepEqual(
      events.map(({ attr }) => attr.flags.mmap2),
      [1, 0],
    );
  });

  test('whole CPUs: samples say the CPU, and a dummy that is never held back reports maps', () => {
    const events = plan('cpu-clock', { wholeCpus: true, enableOnExec: false });
    assert.deepEqual(
      events.map(({ name }) => name),
      ['cpu-clock', 'dummy:u'],
    );
    assert.ok(has(events[0]!.attr.sampleType, PERF_SAMPLE_CPU));
    assert.deepEqual([events[0]!.attr.flags.mmap, events[1]!.attr.flags.mmap], [0, 1]);
    assert.deepEqual([events[0]!.attr.flags.disabled, events[1]!.attr.flags.disabled], [1, 0]);
    assert.equal(events[1]!.attr.flags.excludeKernel, 1);
  });

  test('a delay: events wait for us, the dummy for the exec', () => {
    const [event, dummy] = plan('cpu-clock', { startsLater: true });
    assert.deepEqual([event!.attr.flags.disabled, event!.attr.flags.enableOnExec], [1, 0]);
    assert.deepEqual([dummy!.attr.flags.disabled, dummy!.attr.flags.enableOnExec], [1, 1]);
  });

  test('rates: the term of an event, then what was given, then its nature, then the default', () => {
    const rate = (text: string, options: Partial<SamplingOptions> = {}) => {
      const { attr } = plan(text, options)[0]!;
      return [attr.flags.freq, attr.samplePeriodOrFreq];
    };
    assert.deepEqual(rate('cpu-clock'), [1, 4000n]);
    assert.deepEqual(rate('cpu-clock', { period: 5n, isRateGiven: true }), [0, 5n]);
    assert.deepEqual(rate('sched:sched_switch'), [0, 1n]);
    assert.deepEqual(rate('sched:sched_switch', { frequency: 9, isRateGiven: true }), [1, 9n]);
  });

  test('functions of the kernel come without the call chain of user space, as the kernel requires', () => {
    assert.equal(plan('ftrace:function')[0]!.attr.flags.excludeCallchainUser, 1);
    assert.equal(plan('sched:sched_switch')[0]!.attr.flags.excludeCallchainUser, 0);
  });

  test('a tracepoint brings its bytes, time, CPU and period', () => {
    const [event] = plan('sched:sched_switch');
    assert.equal(event!.attr.type, PERF_TYPE_TRACEPOINT);
    for (const bit of [PERF_SAMPLE_RAW, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD])
      assert.ok(has(event!.attr.sampleType, bit));
    assert.deepEqual(event!.tracepoint, { system: 'sched', name: 'sched_switch' });
  });

  test('groups: members follow their leader; :S samples the leader and reads the group', () => {
    const [leader, member] = plan('{cpu-clock,task-clock}');
    assert.deepEqual([leader!.leader, member!.leader], [null, 0]);
    assert.deepEqual([leader!.attr.flags.disabled, member!.attr.flags.disabled], [1, 0]);
    assert.deepEqual([leader!.attr.flags.enableOnExec, member!.attr.flags.enableOnExec], [1, 0]);
    const [first, second] = plan('{cpu-clock,task-clock}:S');
    assert.ok(
      has(first!.attr.sampleType, PERF_SAMPLE_READ) && has(first!.attr.readFormat, PERF_FORMAT_GROUP),
    );
    assert.deepEqual(
      [second!.attr.flags.freq, second!.attr.samplePeriodOrFreq, second!.attr.flags.inherit],
      [0, 0n, 1],
    );
    const [, own] = plan('{cpu-clock/period=1000000/,page-faults/period=1/}:S');
    assert.deepEqual([own!.attr.flags.freq, own!.attr.samplePeriodOrFreq], [0, 1n]);
    const [, alone] = plan('{cpu-clock,task-clock}:S', { inherit: false });
    assert.equal(alone!.attr.flags.inherit, 0);
  });

  test('parts of call chains, levels, clock, no inherit', () => {
    const { attr } = plan('cpu-clock', {
      callchains: 'user',
      levels: 'user',
      inherit: false,
      clockId: 1,
    })[0]!;
    assert.ok(has(attr.sampleType, PERF_SAMPLE_CALLCHAIN));
    assert.deepEqual([attr.flags.excludeCallchainKernel, attr.flags.excludeCallchainUser], [1, 0]);
    assert.deepEqual([attr.flags.excludeKernel, attr.flags.excludeUser, attr.flags.inherit], [1, 0, 0]);
    assert.deepEqual([attr.flags.useClockId, attr.clockId], [1, 1]);
  });

  test('what record cannot do is refused by name', () => {
    assert.throws(() => plan('duration_time'), { code: 'ERR_EVENT_OPTION' });
    assert.throws(() => plan('cpu-clock/aux-output/'), /aux-output/);
  });

  test('copies of stacks: registers, bytes, maps of data, and no chain of user code, as perf asks for them', () => {
    const attrOf = (...words: Parameters<typeof plan>) => plan(...words)[0]!.attr;
    const facts = ({ sampleType, sampleStackUser, flags }: ReturnType<typeof attrOf>) => [
      [PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_CALLCHAIN].every((bit) =>
        has(sampleType, bit),
      ),
      sampleStackUser,
      flags.excludeCallchainUser,
      flags.mmapData,
    ];
    const all = attrOf('cpu-clock', { callchains: 'both', userStackBytes: 16_384 });
    assert.deepEqual(facts(all), [true, 16_384, 1, 1]);
    assert.equal(all.sampleRegsUser, process.arch === 'arm64' ? 0x1_ffff_ffffn : 0xff_0fffn);
    // An event may say it for itself: perf's size, or its own, in whole words.
    assert.deepEqual(facts(attrOf('cpu-clock/call-graph=dwarf/')), [true, 8192, 1, 1]);
    assert.deepEqual(facts(attrOf('cpu-clock/call-graph=dwarf,stack-size=1001/')), [true, 1008, 1, 1]);
    const own = attrOf('cpu-clock/call-graph=fp/', { callchains: 'both', userStackBytes: 8192 });
    assert.deepEqual(
      [has(own.sampleType, PERF_SAMPLE_STACK_USER), own.flags.excludeCallchainUser],
      [false, 0],
    );
    const kernel = attrOf('cpu-clock', { callchains: 'kernel', userStackBytes: 8192 });
    assert.equal(has(kernel.sampleType, PERF_SAMPLE_STACK_USER), false);
  });
});

describe('planOpen', () => {
  test('a ring per CPU, rows for each task, members beside their leaders', () => {
    const opened = planOpen(plan('{cpu-clock,task-clock}'), { tasks: [10, 11], cpus: [2, 5] }, 8);
    assert.deepEqual(opened.ringCpus, [2, 5]);
    assert.deepEqual(
      opened.rows.map(({ event, task, cpu, leader, ring }) => [event, task, cpu, leader, ring]),
      [
        [0, 10, 2, null, 0],
        [0, 11, 2, null, 0],
        [0, 10, 5, null, 1],
        [0, 11, 5, null, 1],
        [1, 10, 2, 0, 0],
        [1, 11, 2, 1, 0],
        [1, 10, 5, 2, 1],
        [1, 11, 5, 3, 1],
      ],
    );
  });
});

describe('openSampledEvents', () => {
  const target = { tasks: [42], cpus: [0, 1] };
  const open = (sys: FakeSys, text: string | ParsedEvent[], paranoid = 2, pages = 4, notes: Note[] = []) => {
    const parsed = typeof text === 'string' ? parse(text) : text;
    return openSampledEvents(sys, planOpen(planEvents(parsed, OPTIONS), target, pages), { paranoid, notes });
  };

  test('one ring per CPU, the other events redirected; everything is closed again', () => {
    const sys = new FakeSys();
    const sampled = open(sys, 'cpu-clock,task-clock');
    assert.equal(sys.events.length, 4);
    assert.equal(sys.rings.size, 2);
    const [a0, a1, b0, b1] = sys.events;
    assert.deepEqual([a0!.output, a1!.output, b0!.output, b1!.output], [null, null, a0!.fd, a1!.fd]);
    assert.deepEqual(
      sampled.events.map(({ instances }) => instances.map(({ id }) => id)),
      [
        [a0!.id, a1!.id],
        [b0!.id, b1!.id],
      ],
    );
    sampled.close();
    sampled.close();
    assert.equal(sys.closed.length, 4);
  });

  test('enable and disable act on leaders that wait for neither an exec nor another', () => {
    const sys = new FakeSys();
    const events = planEvents(parse('{cpu-clock,task-clock}'), { ...OPTIONS, enableOnExec: false });
    using sampled = openSampledEvents(sys, planOpen(events, { tasks: [42], cpus: [0] }, 4), { paranoid: 2 });
    sampled.enable();
    sampled.disable();
    assert.deepEqual([...new Set(sys.controls)], ['enable 3', 'disable 3']);
    using waiting = open(new FakeSys(), 'cpu-clock');
    waiting.enable();
  });

  test('no hardware: precision goes down, then the clock; no rights: the kernel is left out. One note says both', () => {
    const sys = new FakeSys();
    const asked: number[] = [];
    sys.refuseOpen = ({ attr }) => {
      if (attr.flags.excludeKernel === 0) return 'EACCES';
      asked.push(attr.flags.preciseIp);
      return attr.type === PERF_TYPE_HARDWARE ? 'ENOENT' : null;
    };
    const notes: Note[] = [];
    using sampled = open(sys, [defaultEvent()], 2, 4, notes);
    assert.equal(sampled.events[0]!.name, 'cpu-clock:u');
    assert.equal(sampled.events[0]!.attr.type, PERF_TYPE_SOFTWARE);
    assert.deepEqual(asked.slice(0, 5), [3, 2, 1, 0, 0]);
    assert.equal(notes.length, 1);
    assert.match(
      notes[0]!.text,
      /^recording cpu-clock:u instead of cycles:P: .*only user space, and .*no hardware cycles/,
    );
  });

  test('what can be counted but not sampled, or only of whole CPUs, is told apart', () => {
    const sys = new FakeSys();
    const refused = (refuse: FakeSys['refuseOpen']) => {
      sys.refuseOpen = refuse;
      const notes: Note[] = [];
      let told = '';
      assert.throws(
        () => open(sys, 'cpu-clock', 2, 4, notes),
        (error: Error & { code: string; remedy: string }) => {
          told = `${error.code}: ${error.message}; ${error.remedy}`;
          return true;
        },
      );
      return told;
    };
    const isSampled = ({ attr }: FakeEvent) => attr.samplePeriodOrFreq !== 0n;
    assert.match(
      refused((event) => (isSampled(event) ? 'EINVAL' : null)),
      /^ERR_EVENT_NOT_SAMPLED: cpu-clock can be counted but not sampled.*counterpoint stat -e cpu-clock\. Or .*:S'$/,
    );
    assert.match(
      refused((event) => (isSampled(event) || event.pid !== -1 ? 'EINVAL' : null)),
      /^ERR_EVENT_WHOLE_CPUS: cpu-clock is counted for whole CPUs, not for programs or threads; .*-a/,
    );
    assert.match(
      refused(() => 'EINVAL'),
      /^ERR_EVENT_OPEN/,
    );
    assert.equal(sys.closed.length, sys.events.length);
  });

  test('of a driver, without rights to the kernel: both reasons are told', () => {
    const sys = new FakeSys();
    sys.refuseOpen = () => 'EINVAL';
    const [event] = parse('cpu-clock:u');
    event!.attr.type = 12;
    assert.throws(() => open(sys, [event!]), {
      code: 'ERR_EVENT_OPEN',
      message: /this user may watch only user space/,
    });
    sys.capabilities = 1n << BigInt(CAP_PERFMON);
    assert.throws(() => open(sys, [event!]), { code: 'ERR_EVENT_OPEN', message: /^cannot open/ });
  });

  test('a PMU of a driver that cannot leave guests out is asked to count them before anything else is given up', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (attr.flags.excludeGuest === 1 ? 'EINVAL' : null);
    const [event] = parse('cpu-clock');
    event!.attr.type = 77;
    const notes: Note[] = [];
    using sampled = open(sys, [event!], 2, 4, notes);
    const { attr } = sampled.events[0]!;
    assert.deepEqual([attr.flags.excludeGuest, attr.flags.ksymbol, notes], [0, 1, []]);
    assert.ok(has(attr.readFormat, PERF_FORMAT_LOST));
  });

  test('precision that was asked for is not lowered', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (attr.flags.preciseIp > 0 ? 'EOPNOTSUPP' : null);
    assert.throws(() => open(sys, 'instructions:pp'), { code: 'ERR_EVENT_UNSUPPORTED' });
    assert.equal(sys.events.length, 0);
  });

  test('an old kernel: what it lacks is dropped newest first, and each is told once', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => {
      const isTooNew = has(attr.readFormat, PERF_FORMAT_LOST) || attr.flags.ksymbol || attr.flags.bpfEvent;
      return isTooNew ? 'EINVAL' : null;
    };
    const notes: Note[] = [];
    using sampled = open(sys, 'cpu-clock,task-clock', 2, 4, notes);
    const { attr } = sampled.events[0]!;
    assert.deepEqual([attr.flags.ksymbol, attr.flags.bpfEvent, attr.flags.mmap2], [0, 0, 1]);
    assert.deepEqual(
      notes.map(({ text }) => /(lost samples|BPF programs|kernel symbols)/.exec(text)?.[1]),
      ['lost samples', 'BPF programs', 'kernel symbols'],
    );
    assert.deepEqual(sampled.readLost(), []);
  });

  test('a kernel that reads no inherited groups: they leave children out, and it is told', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) =>
      attr.flags.inherit === 1 && has(attr.sampleType, PERF_SAMPLE_READ) ? 'EINVAL' : null;
    const notes: Note[] = [];
    using sampled = open(sys, '{cpu-clock,task-clock}:S', 2, 4, notes);
    assert.deepEqual(
      sampled.events.map(({ attr }) => [attr.flags.inherit, has(attr.readFormat, PERF_FORMAT_LOST)]),
      [
        [0, true],
        [0, true],
      ],
    );
    assert.deepEqual(
      notes.map(({ text }) => /child processes .* not in this recording/.test(text)),
      [true],
    );
  });

  test('a kernel that does, and refuses an event for something else, keeps the children', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (has(attr.readFormat, PERF_FORMAT_LOST) ? 'EINVAL' : null);
    using sampled = open(sys, '{cpu-clock,task-clock}:S');
    assert.deepEqual(
      sampled.events.map(({ attr }) => attr.flags.inherit),
      [1, 1],
    );
  });

  for (const [errno, code, pattern] of [
    ['EACCES', 'ERR_PERF_PERMISSION', /your own programs|another user/],
    ['ENOENT', 'ERR_EVENT_UNSUPPORTED', /not supported here/],
    ['EBUSY', 'ERR_EVENT_BUSY', /in use/],
    ['E2BIG', 'ERR_KERNEL_TOO_OLD', /too old/],
    ['ENOSYS', 'ERR_NO_PERF_EVENTS', /no perf events/],
    ['EINVAL', 'ERR_EVENT_OPEN', /cannot open/],
    ['ESRCH', 'ERR_NO_PROCESS', /has ended/],
  ] as const) {
    test(`${errno} in the middle: in words, and nothing stays open`, () => {
      const sys = new FakeSys();
      sys.refuseOpen = ({ attr, cpu }) =>
        (attr.config === 1n && cpu === 1) || errno === 'ESRCH' ? errno : null;
      assert.throws(
        () => open(sys, 'cpu-clock,task-clock'),
        (error: Error & { code: string }) => {
          assert.equal(error.code, code);
          assert.match(error.message, pattern);
          return true;
        },
      );
      assert.equal(sys.closed.length, sys.events.length);
    });
  }

  test('permission errors say what is missing and how to get it', () => {
    const sys = new FakeSys();
    sys.refuseOpen = () => 'EACCES';
    const attempt = (paranoid: number) => {
      const events = planEvents(parse('cpu-clock'), { ...OPTIONS, wholeCpus: true });
      try {
        openSampledEvents(sys, planOpen(events, { tasks: [-1], cpus: [0] }, 4), { paranoid });
      } catch (error) {
        assert.ok(error instanceof PermissionError);
        return error;
      }
      return assert.fail();
    };
    const error = attempt(2);
    assert.equal(error.paranoid, 2);
    assert.equal(error.missingCapability, 'CAP_PERFMON');
    assert.match(error.message, /whole CPUs: kernel.perf_event_paranoid is 2/);
    assert.match(error.remedy, /perf_event_paranoid=0/);
    assert.match(attempt(-1).remedy, /seccomp/);
  });

  test('the descriptor limit is raised to what is needed, else the error names both numbers', () => {
    const sys = new FakeSys();
    sys.limits.descriptors = { soft: 2, hard: 1000 };
    sys.refuseOpen = () => (sys.events.length >= sys.limits.descriptors.soft ? 'EMFILE' : null);
    const notes: Note[] = [];
    using sampled = open(sys, 'cpu-clock,task-clock', 2, 4, notes);
    assert.equal(sampled.events.length, 2);
    assert.match(notes[0]!.text, /from 2 to/);

    const poor = new FakeSys();
    poor.limits.descriptors = { soft: 2, hard: 2 };
    poor.setResourceLimit = () => {
      throw new Error('EPERM');
    };
    poor.refuseOpen = () => (poor.events.length >= 2 ? 'EMFILE' : null);
    assert.throws(() => open(poor, 'cpu-clock,task-clock'), /needs 4 .* the limit is 2/);
  });

  test('rings are halved until locked memory suffices', () => {
    const sys = new FakeSys();
    sys.refuseMmap = (size) => (size > 4096 * 3 ? 'EPERM' : null);
    const notes: Note[] = [];
    using sampled = open(sys, 'cpu-clock', 2, 16, notes);
    assert.equal(sampled.rings[0]!.ring.memory.data.length, 4096 * 2);
    assert.match(notes[0]!.text, /8 KiB instead of 64 KiB/);
    const quiet: Note[] = [];
    const generous = planOpen(planEvents(parse('cpu-clock'), OPTIONS), target, 16, 2);
    openSampledEvents(sys, generous, { paranoid: 2, notes: quiet }).close();
    assert.deepEqual(quiet, [], 'more than enough is not missed');
    sys.refuseMmap = () => 'EPERM';
    assert.throws(() => open(sys, 'cpu-clock'), { code: 'ERR_LOCKED_MEMORY' });
  });

  test('threads that have ended are left out; a ring then belongs to the next one', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ pid }) => (pid === 42 ? 'ESRCH' : null);
    const notes: Note[] = [];
    const planned = planOpen(planEvents(parse('cpu-clock'), OPTIONS), { tasks: [42, 43], cpus: [0] }, 4);
    using sampled = openSampledEvents(sys, planned, { paranoid: 2, notes });
    assert.deepEqual(
      sampled.events[0]!.instances.map(({ task }) => task),
      [43],
    );
    assert.equal(sys.rings.size, 1);
    assert.match(notes[0]!.text, /1 of the threads/);
  });

  test('lost samples are read from each instance', () => {
    const sys = new FakeSys();
    sys.read = (fd, into) => {
      new BigUint64Array(into.buffer).set([1000n, 7n, BigInt(fd.number)]);
      return into.length;
    };
    using sampled = open(sys, 'cpu-clock');
    assert.equal(sampled.readLost()[0]!.lostSamples, 3n + 4n);
  });
});
