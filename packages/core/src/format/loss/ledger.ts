/** Every kind of loss that is told apart, with the unit its count is in. */
export const LOSS_KINDS = {
  /**
   * PERF_RECORD_LOST: the ring was full; records of any type were dropped, samples and those
   * of mappings, forks and exits.
   */
  'ring-full': 'records',
  /**
   * PERF_RECORD_LOST_SAMPLES of the kernel itself: samples the hardware dropped. The counts
   * of PERF_FORMAT_LOST, which recorders write as such records too, tell again of full
   * rings and are part of those.
   */
  'lost-samples': 'samples',
  /** Between PERF_RECORD_THROTTLE and UNTHROTTLE: the event was stopped because it interrupted too often. */
  throttled: 'nanoseconds',
  /**
   * Samples that read counters (`:S`, PERF_FORMAT_TOTAL_TIME_*): for so long the event was wanted and had no
   * counter, because others took turns. What happened then is in no sample.
   */
  multiplexed: 'nanoseconds',
  /**
   * Samples whose call chain has as many addresses as the kernel allows: it stops there,
   * and outer callers are missing.
   */
  'call-chain-cut': 'samples',
  /**
   * Samples with a copy of the user's stack (`--call-graph dwarf`) that could not be followed to its end, or
   * was not unwound at all: callers in user code are missing.
   */
  'user-stack-not-unwound': 'samples',
  /**
   * Samples whose copy of the user's stack (`--call-graph dwarf,SIZE`) is too
   * small: outer callers are missing.
   */
  'user-stack-cut': 'samples',
  /**
   * A history (`counterpoint flight`): the part of the requested time that is missing, because the ring did
   * not reach back so far.
   */
  'history-overwritten': 'nanoseconds',
  /** Records of that time: a history was being read for a file, and the kernel could not write into it. */
  'history-paused': 'records',
  /** PERF_RECORD_AUX with TRUNCATED set: the AUX area was full, and the source stopped until it was read. */
  'aux-truncated': 'records',
  /** PERF_RECORD_AUX with PARTIAL set: the data has gaps; under Intel PT the time of guests of KVM. */
  'aux-partial': 'records',
  /** PERF_RECORD_AUX with COLLISION set: Arm SPE dropped samples, because others were still being made. */
  'aux-collision': 'records',
  /**
   * The AUX area was found full to its last byte, and no record says that anything was cut: the source may
   * have stood still until then.
   */
  'aux-full': 'times',
  /**
   * Of earlier versions: PERF_RECORD_AUX with OVERWRITE set, as each record of a snapshot has it. No loss.
   */
  'aux-overwritten': 'records',
  /**
   * OVF packets of a hardware trace: the processor made more than it could write. How much
   * is missing it does not say.
   */
  'trace-overflow': 'overflows',
  /**
   * Places where a hardware trace could not be followed: code that is not known, bytes that are
   * damaged. What ran there is missing.
   */
  'trace-error': 'errors',
  /** Instructions of an exact profile at addresses for which it had no room: they are in its totals only. */
  'profile-full': 'instructions',
  /** A sampling format's program: its map had no room for what it counts under a new key. */
  'format-map-full': 'samples',
  /** A sampling format's program: its ring buffer had no room. */
  'format-ring-full': 'samples',
  /** A sampling format's program: another stack has the same number in the kernel's table of stacks. */
  'format-stack-collision': 'samples',
  /**
   * Overflows of an event, by its own count, at which the kernel did not run the format's program: it
   * was reading a map on that CPU.
   */
  'format-skipped': 'samples',
  /**
   * Time in which user space read a sampling format's maps by system calls: overflows of events whose
   * counts do not tell how many there were (clocks, events at a frequency, children) were skipped
   * then, on the CPU that read.
   */
  'format-map-read': 'nanoseconds',
  /**
   * Hits of a tracepoint at which the kernel did not run the format's program: BPF was
   * running on that CPU already.
   */
  'format-recursion': 'runs',
  /**
   * Samples without a sampling format's program: a child that was forked while the program was being attached
   * has the event without it.
   */
  'format-not-attached': 'samples',
  /** From a notification of a sampling format until its counters were resumed: nothing was counted. */
  'format-suspended': 'nanoseconds',
  /**
   * Overflows of other CPUs and events at the beginning of that time, before their
   * counters were stopped, too.
   */
  'format-while-suspended': 'samples',
  /**
   * A file of a recording of several (`perf record --threads`): what a CPU or thread recorded
   * is missing, whatever it was.
   */
  'file-missing': 'files',
  /**
   * The file ends inside a record, before its header says that its data ends, or was never finished: the
   * bytes that are no whole record and, where the header tells, those that are not there.
   */
  'file-truncated': 'bytes',
  /**
   * The output took no more, of a full disk as a rule: samples that the recorder had, and could not write.
   */
  'recorder-stopped': 'samples',
  /** Samples of a history of fixed-size records that were damaged when it was made into a recording. */
  'record-damaged': 'samples',
  /**
   * Processes that began a program with rights that they did not have, or one that they may not read. The
   * kernel takes all events of a process away at such an exec: the rest of its life is missing.
   */
  'events-taken': 'processes',
} as const;

/** What was lost, and where. */
export type LossKind = keyof typeof LOSS_KINDS;

/** One entry, JSON as it stands. What is not known is null. */
export interface LossEntry {
  /** What was lost, and where. */
  kind: LossKind;
  /** The event that lost it; null: not of one event. */
  event: string | null;
  /** The CPU on which it was lost; null: not of one CPU. */
  cpu: number | null;
  /** The thread that lost it; null: not of one thread. */
  tid: number | null;
  /**
   * Decimal nanoseconds on the recording's clock: after the last good record, up to
   * when the loss was reported.
   */
  fromNs: string | null;
  /** When the loss was reported. */
  toNs: string | null;
  /** Decimal count in `unit`. */
  count: string;
  /** What `count` counts, such as `samples`. */
  unit: string;
  /** False where the count is a lower bound or the range is a guess. */
  exact: boolean;
}

/** What is known of one loss. */
export interface LossFacts {
  /** What was lost, and where. */
  kind: LossKind;
  /** The event that lost it. Default: null, not of one event. */
  event?: string | null;
  /** The CPU on which it was lost. Default: null, not of one CPU. */
  cpu?: number | null;
  /** The thread that lost it. Default: null, not of one thread. */
  tid?: number | null;
  /** After this time, on the recording's clock. Default: null, not known. */
  fromNs?: bigint | null;
  /** Up to this time, on the recording's clock. Default: null, not known. */
  toNs?: bigint | null;
  /** How much, in the unit of the kind. */
  count: bigint | number;
  /** False where the count is a lower bound or the range is a guess. Default: true. */
  exact?: boolean;
}

/**
 * Beyond this many entries, later losses are merged into the last one of the same kind, event, CPU and
 * thread, or if there is none into one entry of their kind.
 */
const MAX_ENTRIES = 4096;

/**
 * Collects losses in order. Bounded: a recording with a million losses still has a
 * ledger of a few thousand rows.
 */
export class LossLedger {
  readonly #entries: LossEntry[] = [];
  readonly #lastByKey = new Map<string, LossEntry>();

  /**
   * Adds a loss as an entry of its own. Beyond 4,096 entries it is added to the last one of the same kind,
   * event, CPU and thread, or to one of its kind.
   */
  add(facts: LossFacts): void {
    this.#enter({
      kind: facts.kind,
      event: facts.event ?? null,
      cpu: facts.cpu ?? null,
      tid: facts.tid ?? null,
      fromNs: facts.fromNs?.toString() ?? null,
      toNs: facts.toNs?.toString() ?? null,
      count: facts.count.toString(),
      unit: LOSS_KINDS[facts.kind],
      exact: facts.exact ?? true,
    });
  }

  /** Those of another ledger. */
  addEntries(entries: readonly LossEntry[]): void {
    for (const entry of entries) this.#enter({ ...entry });
  }

  #enter(entry: LossEntry): void {
    const isFull = this.#entries.length >= MAX_ENTRIES;
    let key = `${entry.kind}|${entry.event}|${entry.cpu}|${entry.tid}`;
    if (isFull && !this.#lastByKey.has(key)) {
      Object.assign(entry, { event: null, cpu: null, tid: null });
      key = `${entry.kind}|rest`;
    }
    const last = this.#lastByKey.get(key);
    if (isFull && last !== undefined) {
      last.count = (BigInt(last.count) + BigInt(entry.count)).toString();
      last.toNs = entry.toNs;
      last.exact &&= entry.exact;
      return;
    }
    this.#entries.push(entry);
    this.#lastByKey.set(key, entry);
  }

  /**
   * At the end: what the events' own counts (PERF_FORMAT_LOST) say beyond what LOST records told,
   * as one more full ring. A LOST record is written before the next record that finds room, so
   * losses at the end have none.
   */
  addUntold(toldByRecords: bigint, counted: bigint, events: readonly string[]): void {
    if (counted <= toldByRecords) return;
    this.add({
      kind: 'ring-full',
      event: events.length === 1 ? events[0]! : null,
      count: counted - toldByRecords,
    });
  }

  /** Whether nothing was lost. */
  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** The entries, as answers and exports have them. */
  list(): LossEntry[] {
    return this.#entries.map((entry) => ({ ...entry }));
  }

  /** Sum of counts per kind, for one-line summaries. */
  totals(): Map<LossKind, bigint> {
    const totals = new Map<LossKind, bigint>();
    for (const entry of this.#entries) {
      totals.set(entry.kind, (totals.get(entry.kind) ?? 0n) + BigInt(entry.count));
    }
    return totals;
  }
}
