/**
 * Intel SDM vol. 3B, "Performance Monitoring": architectural events and fixed
 * counters. Imports no facts of others.
 */
import { INTEL_ARCHITECTURAL_ROWS } from './generated/facts.ts';
import { type TermLayout, term } from './term-layout.ts';

/** `format/` of Intel's core PMUs; the upper half of umask, eq and what is in config1 on some models only. */
export const INTEL_TERMS: readonly TermLayout[] = [
  term('event', 'config', 0, 7),
  term('umask', 'config', 8, 15, 40, 47),
  term('edge', 'config', 18, 18),
  term('pc', 'config', 19, 19),
  term('any', 'config', 21, 21),
  term('inv', 'config', 23, 23),
  term('cmask', 'config', 24, 31),
  term('eq', 'config', 36, 36),
  term('offcore_rsp', 'config1', 0, 63),
  term('ldlat', 'config1', 0, 15),
  term('frontend', 'config1', 0, 23),
];

export interface ArchitecturalEvent {
  /** Bit of CPUID.0AH:EBX (set: absent) and of CPUID.23H.3:EAX (set: present). */
  readonly bit: number;
  readonly name: string;
  readonly vendorName: string;
  readonly event: number;
  readonly umask: number;
  readonly unit: string;
  readonly description: string;
}

function row(
  bit: number,
  name: string,
  vendorName: string,
  event: number,
  umask: number,
  unit: string,
  description: string,
): ArchitecturalEvent {
  return { bit, name, vendorName, event, umask, unit, description };
}

export const INTEL_ARCHITECTURAL_EVENTS: readonly ArchitecturalEvent[] = INTEL_ARCHITECTURAL_ROWS.map(
  (cells) => row(...cells),
);

export interface FixedEvent {
  readonly name: string;
  /** event | umask << 8 of the codes that this counter counts; with event byte 0 no other counter does. */
  readonly codes: readonly number[];
  /** The name of the code with event byte 0, where it says something that no architectural event says. */
  readonly ownName: string | null;
  readonly unit: string;
  readonly description: string;
}

/** By the counter's number. */
export const INTEL_FIXED_EVENTS: readonly FixedEvent[] = [
  { name: 'instructions', codes: [0x00c0, 0x0100], ownName: null, unit: 'instructions', description: '' },
  { name: 'core cycles', codes: [0x003c, 0x0200], ownName: null, unit: 'cycles', description: '' },
  {
    name: 'reference cycles',
    codes: [0x0300],
    ownName: 'reference-cycles-tsc',
    unit: 'cycles',
    description: 'Cycles at the rate of the time-stamp counter while the core is not halted.',
  },
  {
    name: 'slots',
    codes: [0x0400],
    ownName: 'slots',
    unit: 'slots',
    description:
      'Places for micro-operations while the core was not halted; leads a group of top-down metrics.',
  },
  { name: 'bad speculation', codes: [0x0073, 0x0500], ownName: null, unit: 'slots', description: '' },
  { name: 'frontend bound', codes: [0x019c, 0x0600], ownName: null, unit: 'slots', description: '' },
  { name: 'retiring', codes: [0x02c2, 0x0700], ownName: null, unit: 'slots', description: '' },
];

/**
 * Fractions in MSR PERF_METRICS (8 bits each); `umask` as Linux numbers them,
 * `sysfsName` where it shows them.
 */
export const INTEL_METRIC_EVENTS: readonly {
  readonly umask: number;
  readonly name: string;
  readonly sysfsName: string;
  readonly description: string;
}[] = [
  {
    umask: 0x80,
    name: 'retiring',
    sysfsName: 'topdown-retiring',
    description: 'Share of the slots whose work was carried out for good.',
  },
  {
    umask: 0x81,
    name: 'bad speculation',
    sysfsName: 'topdown-bad-spec',
    description: 'Share of the slots lost to work that was thrown away.',
  },
  {
    umask: 0x82,
    name: 'frontend bound',
    sysfsName: 'topdown-fe-bound',
    description: 'Share of the slots left empty by fetch and decode.',
  },
  {
    umask: 0x83,
    name: 'backend bound',
    sysfsName: 'topdown-be-bound',
    description: 'Share of the slots left empty because execution or memory held them up.',
  },
  {
    umask: 0x84,
    name: 'heavy operations',
    sysfsName: 'topdown-heavy-ops',
    description: 'Share of the slots retired by instructions of several micro-operations.',
  },
  {
    umask: 0x85,
    name: 'branch mispredicts',
    sysfsName: 'topdown-br-mispredict',
    description: 'Share of the slots lost to wrongly guessed branches.',
  },
  {
    umask: 0x86,
    name: 'fetch latency',
    sysfsName: 'topdown-fetch-lat',
    description: 'Share of the slots in cycles in which fetch delivered nothing at all.',
  },
  {
    umask: 0x87,
    name: 'memory bound',
    sysfsName: 'topdown-mem-bound',
    description: 'Share of the slots held up by loads and stores.',
  },
];
