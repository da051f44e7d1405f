/** Intel SDM vol. 3B, "Performance Monitoring": architectural events and fixed counters. Imports no facts of others. */
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

export const INTEL_ARCHITECTURAL_EVENTS: readonly ArchitecturalEvent[] = [
  row(
    0,
    'core-cycles',
    'UNHALTED_CORE_CYCLES',
    0x3c,
    0x00,
    'cycles',
    'Clock cycles of the core while it is not halted; the clock follows the frequency.',
  ),
  row(
    1,
    'instructions-retired',
    'INSTRUCTION_RETIRED',
    0xc0,
    0x00,
    'instructions',
    'Instructions that were carried out for good, not those on a path that was thrown away.',
  ),
  row(
    2,
    'reference-cycles',
    'UNHALTED_REFERENCE_CYCLES',
    0x3c,
    0x01,
    'cycles',
    'Cycles of a clock of constant rate while the core is not halted.',
  ),
  row(
    3,
    'llc-references',
    'LLC_REFERENCES',
    0x2e,
    0x4f,
    'events',
    'Requests of this core that reached the last-level cache, speculative ones too.',
  ),
  row(
    4,
    'llc-misses',
    'LLC_MISSES',
    0x2e,
    0x41,
    'events',
    'Requests of this core that the last-level cache could not answer.',
  ),
  row(
    5,
    'branches-retired',
    'BRANCH_INSTRUCTIONS_RETIRED',
    0xc4,
    0x00,
    'branches',
    'Branch instructions that were carried out for good, taken or not.',
  ),
  row(
    6,
    'branch-misses-retired',
    'MISPREDICTED_BRANCH_RETIRED',
    0xc5,
    0x00,
    'branches',
    'Branches carried out for good whose target or direction had been guessed wrong.',
  ),
  row(
    7,
    'slots-any-counter',
    'TOPDOWN.SLOTS_P',
    0xa4,
    0x01,
    'slots',
    'Places for micro-operations that the pipeline had while the core was not halted, on any counter.',
  ),
  row(
    8,
    'slots-backend-bound',
    'TOPDOWN.BACKEND_BOUND',
    0xa4,
    0x02,
    'slots',
    'Places left empty because later stages could take no more.',
  ),
  row(
    9,
    'slots-bad-speculation',
    'TOPDOWN.BAD_SPECULATION',
    0x73,
    0x00,
    'slots',
    'Places spent on work that was thrown away, and on recovering from it.',
  ),
  row(
    10,
    'slots-frontend-bound',
    'TOPDOWN.FRONTEND_BOUND',
    0x9c,
    0x01,
    'slots',
    'Places left empty because fetching and decoding did not keep up.',
  ),
  row(
    11,
    'slots-retiring',
    'TOPDOWN.RETIRING',
    0xc2,
    0x02,
    'slots',
    'Places filled by micro-operations that were carried out for good.',
  ),
  row(12, 'lbr-inserts', 'LBR_INSERTS', 0xe4, 0x01, 'events', 'Entries written to the last-branch record.'),
];

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

/** Fractions in MSR PERF_METRICS (8 bits each); `umask` as Linux numbers them, `sysfsName` where it shows them. */
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
