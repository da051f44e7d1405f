import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_SHORT,
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_INDEX,
  MMAP_PAGE_LOCK,
  MMAP_PAGE_OFFSET,
  MMAP_PAGE_PMC_WIDTH,
  MMAP_PAGE_TIME_CYCLES,
  MMAP_PAGE_TIME_ENABLED,
  MMAP_PAGE_TIME_MASK,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_OFFSET,
  MMAP_PAGE_TIME_RUNNING,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
} from '@counterpoint/core/abi';
import { type Mapping, realSys } from '../linux/kernel/sys/index.ts';

const FIELDS = {
  lock: [MMAP_PAGE_LOCK, 4],
  index: [MMAP_PAGE_INDEX, 4],
  offset: [MMAP_PAGE_OFFSET, 8],
  enabled: [MMAP_PAGE_TIME_ENABLED, 8],
  running: [MMAP_PAGE_TIME_RUNNING, 8],
  capabilities: [MMAP_PAGE_CAPABILITIES, 8],
  width: [MMAP_PAGE_PMC_WIDTH, 2],
  timeShift: [MMAP_PAGE_TIME_SHIFT, 2],
  timeMult: [MMAP_PAGE_TIME_MULT, 4],
  timeOffset: [MMAP_PAGE_TIME_OFFSET, 8],
  timeZero: [MMAP_PAGE_TIME_ZERO, 8],
  timeCycles: [MMAP_PAGE_TIME_CYCLES, 8],
  timeMask: [MMAP_PAGE_TIME_MASK, 8],
} as const;

export type PageFields = Record<keyof typeof FIELDS, bigint>;

const MODULO: Record<2 | 4 | 8, (view: DataView, at: number, value: bigint) => void> = {
  2: (view, at, value) => view.setUint16(at, Number(BigInt.asUintN(16, value)), true),
  4: (view, at, value) => view.setUint32(at, Number(BigInt.asUintN(32, value)), true),
  8: (view, at, value) => view.setBigUint64(at, BigInt.asUintN(64, value), true),
};

/**
 * A page of an event that plays what the kernel writes. Fields that are not given
 * are 0; the counter is allowed.
 */
export class EventPage implements Disposable {
  readonly mapping: Mapping;
  readonly #view: DataView;

  constructor(fields: Partial<PageFields> = {}) {
    this.mapping = realSys.mapAnonymous(4096);
    this.#view = new DataView(this.mapping.buffer);
    this.set({ index: 1n, width: 64n, capabilities: BigInt(MMAP_CAP_USER_RDPMC), ...fields });
  }

  /** A page whose time is the time stamp counter as it is. */
  static clock(): EventPage {
    return new EventPage({ capabilities: BigInt(MMAP_CAP_USER_TIME_ZERO), timeMult: 1n });
  }

  set(fields: Partial<PageFields>): void {
    for (const [name, value] of Object.entries(fields)) {
      const [at, size] = FIELDS[name as keyof PageFields];
      MODULO[size](this.#view, at, value);
    }
  }

  get(name: keyof PageFields): bigint {
    const [at, size] = FIELDS[name];
    const bytes = [...new Uint8Array(this.mapping.buffer, at, size)].reverse();
    return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  }

  close(): void {
    this.mapping.close();
  }
  [Symbol.dispose](): void {
    this.close();
  }
}

export interface SlowEvent {
  /** What is added to the counter. */
  offset: bigint;
  /** Bits of the counter that count. */
  width: number;
  enabled: bigint;
  running: bigint;
}

const has = (page: EventPage, bit: number) => (page.get('capabilities') & BigInt(bit)) !== 0n;
const u64 = (value: bigint) => BigInt.asUintN(64, value);

/**
 * The obvious way to do what the stub does when the time stamp counter is `cyc`: its
 * flags, and each event it got to.
 */
export function readSlowly(
  pages: readonly EventPage[],
  cyc: bigint,
  arch: string = process.arch,
): { flags: number; events: SlowEvent[] } {
  const events: SlowEvent[] = [];
  let flags = 0;
  for (const page of pages) {
    if ((page.get('lock') & 1n) === 1n) return { flags: 8, events };
    const index = page.get('index');
    if (!has(page, MMAP_CAP_USER_RDPMC) || !isCounter(index, arch)) return { flags: flags | 1, events };
    let [enabled, running] = [page.get('enabled'), page.get('running')];
    if (has(page, MMAP_CAP_USER_TIME)) {
      const delta = page.get('timeOffset') + nanoseconds(page, cyc, arch);
      enabled = u64(enabled + delta);
      running = u64(running + delta);
    } else if (enabled !== running) {
      return { flags: flags | 1, events };
    } else {
      flags |= 2;
    }
    const width = 64 - Number((64n - page.get('width')) & 63n);
    events.push({ offset: page.get('offset'), width, enabled, running });
  }
  return { flags, events };
}

function isCounter(index: bigint, arch: string): boolean {
  if (index === 0n) return false;
  return arch === 'arm64' ? index <= 32n : ((index - 1n) & ~0x6000_003fn) === 0n;
}

function nanoseconds(page: EventPage, clock: bigint, arch: string): bigint {
  let cyc = clock;
  if (arch === 'arm64' && has(page, MMAP_CAP_USER_TIME_SHORT)) {
    const cycles = page.get('timeCycles');
    cyc = u64(cycles + (u64(cyc - cycles) & page.get('timeMask')));
  }
  const shift = page.get('timeShift') & 63n;
  const high = cyc >> shift;
  const low = cyc - (high << shift);
  const mult = page.get('timeMult');
  return u64(high * mult) + (u64(low * mult) >> shift);
}
