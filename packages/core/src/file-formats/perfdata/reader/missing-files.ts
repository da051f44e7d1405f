import type { DamageLog } from '../../../base/index.ts';
import { floatAt } from '../../../base/index.ts';
import { PERF_RECORD_ID_INDEX } from '../../../format/abi/index.ts';

/** Rings that are looked for; there is one per CPU or thread. */
const MAX_RINGS = 1 << 16;
/** Names that are told; the number of files is told whatever it is. */
const MOST_NAMES = 64;
/** { id, number of the ring, CPU, thread }, each u64. */
const ENTRY_SIZE = 32;
const NO_CPU = 2 ** 64 - 1;

/** A ring whose file is not there, or cannot be read. */
export interface MissingRing {
  /** The number of the ring. */
  ring: number;
  /** Null where the recording does not say, or where the ring was of a thread. */
  cpu: number | null;
}

/**
 * Finds out which files of a directory are missing: those between others, and
 * those that ID_INDEX records name.
 */
export class MissingFiles {
  readonly #found: ReadonlySet<number>;
  readonly #unreadable: ReadonlyMap<number, string>;
  readonly #cpuOfRing = new Map<number, number | null>();

  /** The numbers of the files (the header is -1), and why others cannot be read, as codes of damage. */
  constructor(rings: readonly number[], unreadable: ReadonlyMap<number, string>) {
    this.#found = new Set(rings);
    this.#unreadable = unreadable;
  }

  /** An ID_INDEX record: which ring each id of an event is in. */
  idIndex(view: DataView, start: number, end: number, type: number, littleEndian: boolean): void {
    if (type !== PERF_RECORD_ID_INDEX) return;
    for (let at = start + 16; at + ENTRY_SIZE <= end && this.#cpuOfRing.size < MAX_RINGS; at += ENTRY_SIZE) {
      const ring = floatAt(view, at + 8, littleEndian);
      const cpu = floatAt(view, at + 16, littleEndian);
      if (ring < MAX_RINGS) this.#cpuOfRing.set(ring, cpu < MAX_RINGS && cpu !== NO_CPU ? cpu : null);
    }
  }

  /** `isThreaded`: the header says that there are files besides it. */
  list(isThreaded: boolean, damage: DamageLog): MissingRing[] {
    const [found, unreadable] = [this.#found, this.#unreadable];
    if (found.size === 1 && unreadable.size === 0 && !isThreaded) return [];
    const last = Math.max(...found, ...unreadable.keys(), ...this.#cpuOfRing.keys());
    const missing: MissingRing[] = [];
    for (let ring = 0; ring <= last; ring++)
      if (!found.has(ring)) missing.push({ ring, cpu: this.#cpuOfRing.get(ring) ?? null });
    // Without a file and without a word on how many there were, it is one at least.
    if (last < 0) missing.push({ ring: 0, cpu: null });
    for (const { ring } of missing.slice(0, MOST_NAMES))
      damage.add(`${unreadable.get(ring) ?? 'file-missing'}:data.${ring}`, 0);
    return missing;
  }
}
