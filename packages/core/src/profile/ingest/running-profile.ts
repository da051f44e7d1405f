import type { Diagnostic } from '../../base/index.ts';
import { Machine } from '../../code/machine/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import { SampleFields } from '../../format/records/index.ts';
import { MODE_KERNEL, MODE_USER, Profile } from '../tables/index.ts';
import { Binaries } from './binaries.ts';
import { MergedSamples, ThreadRows } from './merged-samples.ts';
import { StackInterner } from './stack-interner.ts';
import { SymbolResolver } from './symbol-resolver.ts';

/** Addresses that are remembered with their frames: processes come and go, and this goes on for days. */
const MOST_ADDRESSES = 1 << 18;
/** Maps of code that is being made are read again at most so often, and for a twentieth of the time. */
const JIT_INTERVAL_MS = 900;
const JIT_TIME_SHARE = 1 / 20;

const NO_BYTES = new DataView(new ArrayBuffer(0));

/**
 * A profile that is looked at while it grows: counts by process and address come in, old ones fade, names are
 * found as they are needed. Flat: a sample's stack is its innermost frame.
 */
export class RunningProfile {
  /** Who runs what where, by now. */
  readonly machine = new Machine();
  /** The profile by now. */
  readonly profile = new Profile();
  readonly #binaries: Binaries;
  readonly #stacks: StackInterner;
  readonly #threads = new ThreadRows(this.profile);
  readonly #samples = new MergedSamples(this.profile);
  readonly #resolver: SymbolResolver | null;
  readonly #fields = new SampleFields();
  /** When the map of a binary of JIT code may be read again. */
  readonly #jitDueMs = new Map<number, number>();
  /** Binaries of JIT code with addresses that their maps did not name. */
  readonly #stale = new Set<number>();
  #seenFrames = 0;

  /** Side-band records go to `machine`, in order of time. */
  constructor(symbols: SymbolDriver | null) {
    const { machine, profile } = this;
    this.#binaries = new Binaries(profile, machine, { features: { raw: new Map() } });
    this.#stacks = new StackInterner(profile, machine, this.#binaries, false, MOST_ADDRESSES);
    this.#resolver = symbols === null ? null : new SymbolResolver(profile, this.#binaries, symbols);
  }

  /** Notes on names that are missing. The same one may come again. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#resolver?.diagnostics ?? [];
  }

  /** Add `count` samples of a process at an address, which stand for `period` events. */
  add(event: number, pid: number, addressLo: number, addressHi: number, count: number, period: number): void {
    const thread = this.machine.thread(pid, pid);
    if (thread.profileRow < 0) this.#threads.add(thread);
    const mode = addressHi >> 31 < 0 ? MODE_KERNEL : MODE_USER;
    this.#fields.ipLo = addressLo;
    this.#fields.ipHi = addressHi;
    const stack = this.#stacks.intern(NO_BYTES, this.#fields, thread.process, mode, true, true);
    this.#samples.add(thread, -1, event, stack, period, count);
  }

  /** Everything so far counts only this share from now on; 0 begins anew. */
  fade(share: number): void {
    this.#samples.fade(share);
  }

  /** Find the names of what came since the last call; `nowMs` is of any clock. */
  async resolve(nowMs: number): Promise<void> {
    if (this.#resolver === null) return;
    await this.#resolver.resolveNew(undefined, true);
    const { frames, binaries } = this.profile;
    for (let frame = this.#seenFrames; frame < frames.length; frame++) {
      const binary = frames.binary.at(frame);
      if (frames.symbol.at(frame) < 0 && binaries[binary]!.kind === 'jit') this.#stale.add(binary);
    }
    this.#seenFrames = frames.length;
    // Code that has no name was made after its map was read.
    for (const binary of this.#stale) {
      const dueMs = this.#jitDueMs.get(binary);
      if (dueMs === undefined) this.#jitDueMs.set(binary, nowMs + JIT_INTERVAL_MS);
      else if (nowMs >= dueMs) await this.#readAgain(this.#resolver, binary, nowMs);
    }
  }

  async #readAgain(resolver: SymbolResolver, binary: number, nowMs: number): Promise<void> {
    const startedAt = performance.now();
    this.#stale.delete(binary);
    resolver.forget(binary);
    await resolver.resolveNew();
    const tookMs = performance.now() - startedAt;
    this.#jitDueMs.set(binary, nowMs + Math.max(JIT_INTERVAL_MS, tookMs / JIT_TIME_SHARE));
  }
}
