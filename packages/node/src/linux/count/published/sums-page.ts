import { CounterpointError } from '@counterpoint/core/base';
import type { CountStatus, Counts } from '../requests/types.ts';
import { knownValues } from '../sets/reading.ts';

/**
 * The sums of a session in memory that other processes map and read without a system call. Little-endian:
 *
 *    0  u32 magic "CPSM"   4  u32 version        8  u32 sequence     12  u32 entries
 *   16  u64 timeNs        24  u64 elapsedNs     32  u64 updates      40  u32 generation   44  u32 state
 *   48  u32 entryOffset   52  u32 entrySize     56  u32 namesOffset  60  u32 namesSize
 *   64  entries: u64 value, u64 enabledNs, u64 runningNs, u32 status, u32 set
 *   …   names: JSON [{ "set", "event", "unit", "scale" }], one per entry
 *
 * `sequence` is odd while the writer is at work, and another number afterwards: a reader takes it, reads,
 * and takes it again; where the two differ or are odd it begins anew. `generation` changes with the
 * names. `timeNs` is CLOCK_MONOTONIC.
 */
export const SUMS_PAGE_BYTES = 1024 * 1024;

const MAGIC = 0x4d53_5043;
const VERSION = 1;
const AT_MAGIC = 0;
const AT_VERSION = 4;
const AT_SEQUENCE = 8;
const AT_ENTRIES = 12;
const AT_TIME = 16;
const AT_ELAPSED = 24;
const AT_UPDATES = 32;
const AT_GENERATION = 40;
const AT_STATE = 44;
const AT_ENTRY_OFFSET = 48;
const AT_ENTRY_SIZE = 52;
const AT_NAMES_OFFSET = 56;
const AT_NAMES_SIZE = 60;
const ENTRY_OFFSET = 64;
const ENTRY_SIZE = 32;

/** What a published session does. */
export type SumsState = 'stopped' | 'running' | 'suspended' | 'closed';
const STATES: readonly SumsState[] = ['stopped', 'running', 'suspended', 'closed'];
const STATUSES: readonly CountStatus[] = ['counted', 'not-counted', 'not-supported'];

/** One event's sums. */
export interface PageSum {
  /** The name of the event set. */
  set: string;
  /** The event, by the name with which it was requested. */
  event: string;
  /** The unit of the value times `scale`, such as `Joules`; null: a plain count. */
  unit: string | null;
  /** The value times this is in `unit`. */
  scale: number;
  /** Whether the value is a count, and why not. */
  status: CountStatus;
  /** Null if it is not known, as in the counts. In the page it is 0 then. */
  value: bigint | null;
  /** How long the event was wanted, in nanoseconds. */
  enabledNs: bigint;
  /** How long it had a counter, in nanoseconds. */
  runningNs: bigint;
}

/** All that a page of sums says, at one moment. */
export interface PageSums {
  /** When it was written, on CLOCK_MONOTONIC, in nanoseconds. */
  timeNs: bigint;
  /** How long the session has been started, in nanoseconds. */
  elapsedNs: bigint;
  /** What the session does. */
  state: SumsState;
  /** How often the writer has written. */
  updates: bigint;
  /** The sums of all sets, in the order of sets and events. */
  sums: PageSum[];
}

interface EntryName {
  set: string;
  event: string;
  unit: string | null;
  scale: number;
}

interface NamedEvents {
  name: string;
  events: readonly { requestedName: string; unit: string | null; scale: number }[];
}

function namesOf(sets: readonly NamedEvents[]): string {
  return JSON.stringify(
    sets.flatMap(({ name, events }) =>
      events.map(
        ({ requestedName, unit, scale }): EntryName => ({ set: name, event: requestedName, unit, scale }),
      ),
    ),
  );
}

/** Throws where the events of `sets` do not fit into a page. */
export function requireRoom(sets: readonly NamedEvents[]): void {
  const entries = sets.reduce((sum, { events }) => sum + events.length, 0);
  const size = ENTRY_OFFSET + entries * ENTRY_SIZE + new TextEncoder().encode(namesOf(sets)).length;
  if (size > SUMS_PAGE_BYTES) {
    throw new CounterpointError(
      'ERR_SUMS_PAGE',
      `${entries} events and their names do not fit into a page of ${SUMS_PAGE_BYTES} bytes`,
      'Publish fewer events.',
    );
  }
}

/** The writing side. There is one writer. */
export class SumsPageWriter {
  readonly #view: DataView<ArrayBuffer>;
  readonly #sequence: Int32Array;
  readonly #bytes: Uint8Array;
  #names = '';
  #updates = 0n;

  constructor(memory: ArrayBuffer) {
    this.#view = new DataView(memory);
    this.#bytes = new Uint8Array(memory);
    this.#sequence = new Int32Array(memory, AT_SEQUENCE, 1);
    this.#view.setUint32(AT_VERSION, VERSION, true);
    this.#view.setUint32(AT_ENTRY_OFFSET, ENTRY_OFFSET, true);
    this.#view.setUint32(AT_ENTRY_SIZE, ENTRY_SIZE, true);
    // Last: from here on it is a page.
    this.#view.setUint32(AT_MAGIC, MAGIC, true);
  }

  write(counts: Counts, state: SumsState): void {
    const names = namesOf(counts.sets);
    if (names !== this.#names) requireRoom(counts.sets);
    Atomics.add(this.#sequence, 0, 1);
    try {
      if (names !== this.#names) this.#writeNames(names, counts);
      this.#writeSums(counts, state);
    } finally {
      Atomics.add(this.#sequence, 0, 1);
    }
  }

  /** Another state of the sums that are there. */
  writeState(state: SumsState): void {
    Atomics.add(this.#sequence, 0, 1);
    this.#view.setUint32(AT_STATE, STATES.indexOf(state), true);
    Atomics.add(this.#sequence, 0, 1);
  }

  #writeSums(counts: Counts, state: SumsState): void {
    const view = this.#view;
    view.setBigUint64(AT_TIME, counts.timeNs, true);
    view.setBigUint64(AT_ELAPSED, counts.elapsedNs, true);
    view.setBigUint64(AT_UPDATES, ++this.#updates, true);
    view.setUint32(AT_STATE, STATES.indexOf(state), true);
    let at = ENTRY_OFFSET;
    counts.sets.forEach(({ events }, set) => {
      for (const { value, enabledNs, runningNs, status } of events) {
        view.setBigUint64(at, value ?? 0n, true);
        view.setBigUint64(at + 8, enabledNs, true);
        view.setBigUint64(at + 16, runningNs, true);
        view.setUint32(at + 24, STATUSES.indexOf(status), true);
        view.setUint32(at + 28, set, true);
        at += ENTRY_SIZE;
      }
    });
  }

  #writeNames(names: string, counts: Counts): void {
    const entries = counts.sets.reduce((sum, { events }) => sum + events.length, 0);
    const bytes = new TextEncoder().encode(names);
    const offset = ENTRY_OFFSET + entries * ENTRY_SIZE;
    const view = this.#view;
    this.#bytes.set(bytes, offset);
    view.setUint32(AT_ENTRIES, entries, true);
    view.setUint32(AT_NAMES_OFFSET, offset, true);
    view.setUint32(AT_NAMES_SIZE, bytes.length, true);
    view.setUint32(AT_GENERATION, view.getUint32(AT_GENERATION, true) + 1, true);
    this.#names = names;
  }
}

/**
 * A writer is in its lock for microseconds. One that the kernel has taken the CPU from is in it until it has
 * one again: then it is waited for without one. After so long it has died in there.
 */
const SPINS = 10_000;
const PAUSE_MS = 0.2;
const MOST_WAIT_MS = 2000;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** The reading side: of a page that anybody may have written. */
export class SumsPageReader {
  readonly #view: DataView<ArrayBuffer>;
  readonly #sequence: Int32Array;
  readonly #bytes: Uint8Array;
  #generation = -1;
  #names: readonly EntryName[] = [];

  /** Reads from the memory of a page, such as a mapped file. Throws ERR_SUMS_PAGE if it is none. */
  constructor(memory: ArrayBuffer) {
    if (!(memory instanceof ArrayBuffer)) throw notAPage('it is not an ArrayBuffer');
    if (memory.byteLength < ENTRY_OFFSET) throw notAPage('it is too short');
    this.#view = new DataView(memory);
    this.#bytes = new Uint8Array(memory);
    this.#sequence = new Int32Array(memory, AT_SEQUENCE, 1);
    if (this.#view.getUint32(AT_MAGIC, true) !== MAGIC)
      throw notAPage('it does not begin like a page of sums');
    const version = this.#view.getUint32(AT_VERSION, true);
    if (version !== VERSION) throw notAPage(`its version is ${version}`);
  }

  /** All sums as they were at one moment. */
  read(): PageSums {
    const endMs = performance.now() + MOST_WAIT_MS;
    for (let tries = 1; ; tries++) {
      if (tries % SPINS === 0) {
        if (performance.now() > endMs) break;
        Atomics.wait(pause, 0, 0, PAUSE_MS);
      }
      const before = Atomics.load(this.#sequence, 0);
      if ((before & 1) !== 0) continue;
      const copy = this.#bytes.slice(0, this.#usedBytes());
      if (Atomics.load(this.#sequence, 0) === before) return this.#decode(new DataView(copy.buffer));
    }
    throw new CounterpointError(
      'ERR_SUMS_PAGE_BUSY',
      'the sums are written all the time, or the writer died while it wrote',
      'Try again; if it stays so, check that the process which publishes them still runs.',
    );
  }

  #usedBytes(): number {
    return this.#view.getUint32(AT_NAMES_OFFSET, true) + this.#view.getUint32(AT_NAMES_SIZE, true);
  }

  #decode(view: DataView<ArrayBuffer>): PageSums {
    if (view.byteLength < ENTRY_OFFSET) throw notAPage('its names lie before its beginning');
    const generation = view.getUint32(AT_GENERATION, true);
    if (generation !== this.#generation) {
      this.#names = readNames(view);
      this.#generation = generation;
    }
    const offset = view.getUint32(AT_ENTRY_OFFSET, true);
    const size = view.getUint32(AT_ENTRY_SIZE, true);
    const entries = view.getUint32(AT_ENTRIES, true);
    if (size < ENTRY_SIZE || offset + entries * size > view.byteLength)
      throw notAPage('its entries lie beyond its end');
    const sums: PageSum[] = [];
    for (let entry = 0; entry < entries; entry++)
      sums.push(this.#readEntry(view, entry, offset + entry * size));
    return {
      timeNs: view.getBigUint64(AT_TIME, true),
      elapsedNs: view.getBigUint64(AT_ELAPSED, true),
      state: STATES[view.getUint32(AT_STATE, true)] ?? 'closed',
      updates: view.getBigUint64(AT_UPDATES, true),
      sums,
    };
  }

  #readEntry(view: DataView, entry: number, at: number): PageSum {
    const status = STATUSES[view.getUint32(at + 24, true)] ?? 'not-counted';
    const sum = {
      value: view.getBigUint64(at, true),
      enabledNs: view.getBigUint64(at + 8, true),
      runningNs: view.getBigUint64(at + 16, true),
    };
    const { set, event, unit, scale } = this.#names[entry] ?? {
      set: '',
      event: `event ${entry}`,
      unit: null,
      scale: 1,
    };
    return {
      set,
      event,
      unit,
      scale,
      status,
      ...sum,
      value: knownValues(status, sum).value,
    };
  }
}

function readNames(view: DataView<ArrayBuffer>): EntryName[] {
  const offset = view.getUint32(AT_NAMES_OFFSET, true);
  const size = view.getUint32(AT_NAMES_SIZE, true);
  if (offset + size > view.byteLength) throw notAPage('its names lie beyond its end');
  let names: unknown;
  try {
    names = JSON.parse(new TextDecoder().decode(new Uint8Array(view.buffer, offset, size)));
  } catch {
    throw notAPage('its names cannot be read');
  }
  if (!Array.isArray(names)) throw notAPage('its names cannot be read');
  return names.map((name: Partial<EntryName> | null) => ({
    set: String(name?.set ?? ''),
    event: String(name?.event ?? ''),
    unit: typeof name?.unit === 'string' ? name.unit : null,
    scale: typeof name?.scale === 'number' ? name.scale : 1,
  }));
}

function notAPage(why: string): CounterpointError {
  return new CounterpointError(
    'ERR_SUMS_PAGE',
    `this is not a page of sums: ${why}`,
    'Name the file that publish() gave.',
  );
}
