/** Two recordings as one profile whose stacks are those of both. */
import { TripleTable } from '../../../base/index.ts';
import { NONE, Profile, type ProfileEvent } from '../../../profile/tables/index.ts';

/**
 * What each recording weighs in the merged profile: so a box is as wide as the mean of its two shares, and
 * what only one of them has is seen, too. Large, because files have whole numbers.
 */
export const SHARE_OF_EACH = 2 ** 40;

export interface ComparedProfiles {
  /** A sample's weight is that of either recording, its count what of that is the later one's. */
  readonly merged: Profile;
  readonly before: ComparedTotals;
  readonly after: ComparedTotals;
}

/** One of the recordings. */
export interface ComparedTotals {
  readonly weight: number;
  readonly samples: number;
  /** How many samples of equal weight they are worth. */
  readonly equalSamples: number;
}

export function mergeCompared(before: Profile, after: Profile, event: ProfileEvent): ComparedProfiles {
  const merged = new Profile();
  merged.events.push(event);
  merged.meta = after.meta;
  merged.loss = [...before.loss, ...after.loss];
  merged.damage = [...before.damage, ...after.damage];
  const tables = new MergedTables(merged);
  return {
    merged,
    before: tables.add(before, event.name, false),
    after: tables.add(after, event.name, true),
  };
}

class MergedTables {
  readonly #merged: Profile;
  readonly #binaries = new Map<string, number>();
  readonly #symbols = new TripleTable();
  readonly #frames = new Map<string, number>();
  readonly #stacks = new TripleTable();

  constructor(merged: Profile) {
    this.#merged = merged;
  }

  add(profile: Profile, eventName: string, isAfter: boolean): ComparedTotals {
    const event = profile.events.findIndex(({ name }) => name === eventName);
    const { samples, strings } = profile;
    const own = this.#merged.samples;
    const stacks = this.#addStacks(profile);
    const totals = totalsOf(profile, event);
    const scale = totals.weight > 0 ? SHARE_OF_EACH / totals.weight : 0;
    for (let row = 0; row < samples.length; row++) {
      if (samples.event.at(row) !== event) continue;
      const stack = samples.stack.at(row);
      const weight = scale * samples.weight.at(row);
      const comm = this.#text(strings.get(samples.comm.at(row)));
      const ownStack = stack === NONE ? NONE : stacks[stack]!;
      own.add(Number.NaN, NONE, comm, NONE, 0, ownStack, weight, isAfter ? weight : 0);
    }
    return totals;
  }

  #addStacks(profile: Profile): Int32Array {
    const { stacks } = profile;
    const frames = this.#addFrames(profile);
    const rows = new Int32Array(stacks.length);
    const own = this.#merged.stacks;
    for (let row = 0; row < stacks.length; row++) {
      const prefix = stacks.prefix.at(row);
      const caller = prefix === NONE ? NONE : rows[prefix]!;
      const frame = frames[stacks.frame.at(row)]!;
      const found = this.#stacks.find(caller, frame, 0);
      rows[row] = found >= 0 ? found : -1 - found;
      if (found >= 0) continue;
      own.prefix.push(caller);
      own.frame.push(frame);
    }
    return rows;
  }

  /** Frames by function: addresses are others in each build. */
  #addFrames(profile: Profile): Int32Array {
    const { frames, jitCode, strings, sources } = profile;
    const binaries = profile.binaries.map((_, binary) => this.#binary(profile, binary));
    const rows = new Int32Array(frames.length);
    for (let frame = 0; frame < frames.length; frame++) {
      const binary = binaries[frames.binary.at(frame)]!;
      const symbol = this.#symbol(profile, frames.symbol.at(frame), binaries);
      const mode = frames.mode.at(frame);
      const code = frames.jitCode.at(frame);
      const tier = code === NONE ? null : strings.get(jitCode.tier.at(code));
      const source = frames.source.at(frame);
      const file = source === NONE ? null : strings.get(sources.file.at(source));
      const key = `${binary} ${symbol} ${mode} ${tier} ${file}`;
      let row = this.#frames.get(key);
      if (row === undefined) this.#frames.set(key, (row = this.#frame(binary, symbol, mode, tier, file)));
      rows[frame] = row;
    }
    return rows;
  }

  #frame(binary: number, symbol: number, mode: number, tier: string | null, file: string | null): number {
    const { frames, jitCode, sources } = this.#merged;
    const frame = { binary, symbol, mode, jitCode: NONE, source: NONE };
    if (tier !== null) {
      jitCode.recordedName.push(this.#text(''));
      jitCode.tier.push(this.#text(tier));
      frame.jitCode = jitCode.start.push(0);
    }
    if (file !== null) {
      sources.file.push(this.#text(file));
      sources.line.push(0);
      frame.source = sources.column.push(0);
    }
    return frames.add(frame);
  }

  #symbol({ symbols, strings }: Profile, symbol: number, binaries: readonly number[]): number {
    if (symbol === NONE) return NONE;
    const binary = binaries[symbols.binary.at(symbol)]!;
    const name = this.#text(strings.get(symbols.name.at(symbol)));
    const row = this.#symbols.find(binary, name, 0);
    if (row >= 0) return row;
    this.#merged.symbols.binary.push(binary);
    return this.#merged.symbols.name.push(name);
  }

  /** By name: another build may lie elsewhere, and generated code is of another process in each run. */
  #binary({ binaries }: Profile, binary: number): number {
    const { kind, name, path } = binaries[binary]!;
    const isJit = kind === 'jit';
    const key = isJit ? kind : `${kind} ${name}`;
    let row = this.#binaries.get(key);
    if (row === undefined) {
      const known = isJit ? { path: '[JIT]', name: '[JIT]' } : { path, name };
      row = this.#merged.binaries.push({ ...known, buildId: '', kind }) - 1;
      this.#binaries.set(key, row);
    }
    return row;
  }

  #text(text: string): number {
    return this.#merged.strings.intern(text);
  }
}

function totalsOf({ samples }: Profile, event: number): ComparedTotals {
  let weight = 0;
  let count = 0;
  let squares = 0;
  for (let row = 0; row < samples.length; row++) {
    if (samples.event.at(row) !== event) continue;
    const [own, number] = [samples.weight.at(row), samples.count.at(row)];
    weight += own;
    count += number;
    squares += number > 0 ? (own * own) / number : 0;
  }
  const equalSamples = squares > 0 ? Math.min(count, (weight * weight) / squares) : count;
  return { weight, samples: count, equalSamples };
}
