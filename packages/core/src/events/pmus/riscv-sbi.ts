import { buildModel, type EventRow, generalCounters, placesOf } from './build.ts';
import { cacheConfig } from './cache-config.ts';
import { SBI_FIRMWARE_ROWS } from './generated/facts.ts';
import { type TermLayout, term } from './term-layout.ts';
import type {
  CounterDescription,
  CpuIdentity,
  EventRequirement,
  EventWords,
  PmuFamily,
  PmuModel,
} from './types.ts';

/** Format since Linux 6.12; before, `firmware` was bit 63 alone. */
const TERMS: readonly TermLayout[] = [term('event', 'config', 0, 47), term('firmware', 'config', 62, 63)];

/** `firmware=` of a standard SBI firmware event. */
const FIRMWARE_EVENT = 2n;

/** SBI specification, "Performance Monitoring Unit Extension", firmware events by code. */
export const SBI_FIRMWARE_EVENTS = SBI_FIRMWARE_ROWS;

/**
 * An event as the SBI numbers it (`event_idx`): type 19-16 | code 15-0.
 *
 *   type 0   general events, code = the kernel's number + 1
 *   type 1   caches, code = cache << 3 | operation << 1 | result
 *   type 2   raw, the selector in a register beside
 *   type 15  firmware
 */
export function sbiEventIndex(type: number, code: number): number {
  return (type << 16) | code;
}

/** The SBI's number of a PERF_TYPE_HARDWARE event. */
export function sbiGeneralEvent(hardwareConfig: number): number {
  return sbiEventIndex(0, hardwareConfig + 1);
}

/** The SBI's number of a PERF_TYPE_HW_CACHE event. */
export function sbiCacheEvent(cache: number, operation: number, result: number): number {
  return sbiEventIndex(1, (cache << 3) | (operation << 1) | result);
}

/**
 * Events of these two kinds have no raw code on Linux: the kernel hands the SBI's number over itself. In a
 * model they stand above all raw codes, which have 48 bits.
 */
const SBI_NUMBER = 1n << 48n;

export const riscvSbi: PmuFamily = {
  name: 'riscv-sbi',
  matches: ({ architecture }) => architecture === 'riscv',
  describe,
};

function describe(identity: CpuIdentity): PmuModel {
  const notes = ['which counter takes an event is decided by the firmware; any free one is shown'];
  const log = identity.kernelLog;
  // cycle, time and instret are 0 to 2; time counts no event, and the log leaves it out.
  const hardware = log?.general ?? 2;
  const firmware = log?.firmware ?? 16;
  if (log?.general == null) {
    notes.push(
      'the number of counters is only in the kernel log ("riscv-pmu-sbi: …"): cycle, instret and no others are assumed',
    );
  }
  const width = log?.widthBits ?? 64;
  const counters: CounterDescription[] = [
    { ...fixed('cycle', 0), widthBits: width },
    { ...fixed('instret', 2), widthBits: width },
    ...generalCounters(Math.max(0, hardware - 2), width, (number) => number + 4).map((counter) => ({
      ...counter,
      name: `hpmcounter${counter.number + 3}`,
    })),
    ...Array.from({ length: firmware }, (_, number) => ({
      name: `firmware ${number}`,
      kind: 'firmware' as const,
      number,
      widthBits: 64,
      pageIndex: null,
    })),
  ];
  const generic = new Map<number, bigint>();
  for (let number = 0; number < 10; number++)
    generic.set(number, SBI_NUMBER | BigInt(sbiGeneralEvent(number)));
  const cache = new Map<number, bigint>();
  for (let id = 0; id < 7; id++) {
    for (let operation = 0; operation < 3; operation++) {
      for (let result = 0; result < 2; result++) {
        cache.set(
          cacheConfig(id, operation, result),
          SBI_NUMBER | BigInt(sbiCacheEvent(id, operation, result)),
        );
      }
    }
  }
  return buildModel(
    {
      family: 'riscv-sbi',
      title: 'RISC-V SBI PMU',
      pmu: identity.pmu,
      pmuType: identity.pmuType,
      terms: TERMS,
      counters,
      generic,
      cache,
      watchdog: null,
      requirementOf: (event) => requirement(event, counters),
      notes,
    },
    firmwareRows(),
  );
}

function fixed(name: string, number: number): Omit<CounterDescription, 'widthBits'> {
  return { name, kind: 'fixed', number, pageIndex: number + 1 };
}

function firmwareRows(): EventRow[] {
  return SBI_FIRMWARE_EVENTS.map(([name, description], code) => ({
    name: `firmware-${name}`,
    terms: [
      ['firmware', FIRMWARE_EVENT],
      ['event', BigInt(code)],
    ],
    unit: 'events',
    description,
  }));
}

function requirement({ config }: EventWords, counters: readonly CounterDescription[]): EventRequirement {
  if (config >> 62n !== 0n) return { places: placesOf(counters, ({ kind }) => kind === 'firmware') };
  const general = placesOf(counters, ({ kind }) => kind === 'general');
  const isSbiNumber = (config & SBI_NUMBER) !== 0n;
  const own = isSbiNumber ? Number(config & 0xfffffn) : -1;
  const fixedNumber = own === sbiGeneralEvent(0) ? 0 : own === sbiGeneralEvent(1) ? 2 : -1;
  const places = [
    ...placesOf(counters, ({ kind, number }) => kind === 'fixed' && number === fixedNumber),
    ...general,
  ];
  if (places.length > 0) return { places };
  return { places, refusal: 'no programmable counter is known on this hart' };
}
