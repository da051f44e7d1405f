/** AUXTRACE_INFO of CoreSight, as perf writes it (tools/perf/util/cs-etm.h). */
import type { PmuFacts } from '../../kernel/local-pmus/index.ts';

/** Bits of `config`, by the kernel's driver (include/linux/coresight-pmu.h). */
const OPTION_BRANCH_BROADCAST = 1n << 8n;
const OPTION_CYCLES = 1n << 12n;
export const OPTION_CONTEXT_ID = 1n << 14n;
export const OPTION_CONTEXT_ID_2 = 1n << 15n;
const OPTION_TIMESTAMP = 1n << 28n;
const OPTION_RETURN_STACK = 1n << 29n;

/** What they are in TRCCONFIGR, the register of an ETMv4. */
const REGISTER_BITS: readonly (readonly [option: bigint, bits: bigint])[] = [
  [OPTION_BRANCH_BROADCAST, 1n << 3n],
  [OPTION_CYCLES, 1n << 4n],
  [OPTION_CONTEXT_ID, 1n << 6n],
  [OPTION_CONTEXT_ID_2, (1n << 7n) | (1n << 15n)],
  [OPTION_TIMESTAMP, 1n << 11n],
  [OPTION_RETURN_STACK, 1n << 12n],
];

const FIRST_TRACE_ID = 0x10;
/** Trace ids are below 0x70. */
const MOST_TRACE_IDS = 48;
/** The id may not be this one: the kernel says it in a record. */
const ID_IS_DYNAMIC = 1n << 31n;
/** Of the version that gives each CPU an id while it traces, and tells it in AUX_OUTPUT_HW_ID. */
const DYNAMIC_IDS_SINCE = [6, 3] as const;

export type EtmKind = 'etmv3' | 'etmv4' | 'ete';

interface KindFacts {
  magic: bigint;
  /** Files of its registers in sysfs, in the order of the words. */
  registers: readonly string[];
}

const ETMV4_REGISTERS = [
  'trcidr/trcidr0',
  'trcidr/trcidr1',
  'trcidr/trcidr2',
  'trcidr/trcidr8',
  'mgmt/trcauthstatus',
];
const KINDS: Readonly<Record<EtmKind, KindFacts>> = {
  etmv3: { magic: 0x3030303030303030n, registers: ['mgmt/etmccer', 'mgmt/etmidr'] },
  etmv4: { magic: 0x4040404040404040n, registers: ETMV4_REGISTERS },
  ete: { magic: 0x5050505050505050n, registers: [...ETMV4_REGISTERS, 'mgmt/trcdevarch'] },
};

/** What the tracer of a CPU is. */
export function etmKindOf(facts: PmuFacts, cpu: number): EtmKind {
  const architecture = register(facts, cpu, 'mgmt/trcdevarch');
  // Version 5 of the architecture 0xa13.
  if ((architecture & 0xffffn) === 0x5a13n) return 'ete';
  return facts.read(`cpu${cpu}/trcidr/trcidr0`) === null ? 'etmv3' : 'etmv4';
}

/**
 * The words behind the type:
 *
 *   version   PMU type, number of CPUs   snapshot   for each CPU:  magic  cpu  number of words that follow  config  trace id  registers ...
 */
export function csEtmWords(
  facts: PmuFacts,
  { type, config }: { type: number; config: bigint },
  { cpus, isSnapshot, release }: { cpus: readonly number[]; isSnapshot: boolean; release: string },
): bigint[] {
  const hasDynamicIds = isSince(release);
  const head = [hasDynamicIds ? 2n : 1n, (BigInt(type) << 32n) | BigInt(cpus.length), isSnapshot ? 1n : 0n];
  return [...head, ...cpus.flatMap((cpu) => wordsOfCpu(facts, cpu, config, hasDynamicIds))];
}

function wordsOfCpu(facts: PmuFacts, cpu: number, config: bigint, hasDynamicIds: boolean): bigint[] {
  const kind = etmKindOf(facts, cpu);
  const { magic, registers } = KINDS[kind];
  const id = BigInt(FIRST_TRACE_ID + (cpu % MOST_TRACE_IDS) * 2);
  const words = [
    kind === 'etmv3' ? config : registerOf(config),
    hasDynamicIds ? id | ID_IS_DYNAMIC : id,
    ...registers.map((path) => register(facts, cpu, path)),
  ];
  if (hasDynamicIds && kind !== 'etmv3') words.push(timeSource(facts, cpu));
  return [magic, BigInt(cpu), BigInt(words.length), ...words];
}

function registerOf(config: bigint): bigint {
  return REGISTER_BITS.reduce(
    (found, [option, bits]) => ((config & option) === 0n ? found : found | bits),
    0n,
  );
}

/** 0 where there is no such file, as in perf. */
function register(facts: PmuFacts, cpu: number, path: string): bigint {
  const text = facts.read(`cpu${cpu}/${path}`)?.trim() ?? '';
  return /^(?:0x)?[0-9a-f]+$/i.test(text) ? BigInt(`0x${text.replace(/^0x/i, '')}`) : 0n;
}

/** Which clock the times are of; -1: nobody knows. */
function timeSource(facts: PmuFacts, cpu: number): bigint {
  const text = facts.read(`cpu${cpu}/ts_source`)?.trim() ?? '';
  return /^-?\d+$/.test(text) ? BigInt(text) : -1n;
}

function isSince(release: string): boolean {
  const [major = 0, minor = 0] = release.split(/[.-]/).map(Number);
  const [sinceMajor, sinceMinor] = DYNAMIC_IDS_SINCE;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
