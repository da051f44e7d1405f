/** Tables of a profile for code that a trace ran: binaries, functions, frames. Each address once. */
import { TripleTable } from '@counterpoint/core/base';
import { LossLedger } from '@counterpoint/core/loss';
import { MODE_KERNEL, MODE_USER, NONE, Profile } from '@counterpoint/core/profile';
import type { FlowErrorCount } from '../../flow/index.ts';
import type { CodeFunctions, PlacedBinary } from './code-functions.ts';

/** Who ran it, for the table of threads. */
export interface TracedProgram {
  /** Name of the command. Default: `[trace]`. */
  comm?: string;
  /** Default: 0. */
  pid?: number;
  /** Default: `pid`. */
  tid?: number;
}

const UNKNOWN_BINARY = 0;

export class TraceTables {
  readonly profile = new Profile();
  readonly #functions: CodeFunctions | undefined;
  readonly #binaries = new Map<PlacedBinary, number>();
  readonly #frames = new TripleTable();
  readonly #stacks = new TripleTable();
  readonly #symbols = new Map<string, number>();
  #untraced: number = NONE;

  constructor(functions: CodeFunctions | undefined, { comm = '[trace]', pid = 0, tid = pid }: TracedProgram) {
    const { profile } = this;
    this.#functions = functions;
    profile.binaries.push({ path: '[unknown]', name: '[unknown]', buildId: '', kind: 'unknown' });
    profile.threads.pid.push(pid);
    profile.threads.tid.push(tid);
    profile.threads.comm.push(profile.strings.intern(comm));
  }

  addEvent(name: string, unit: string = name): number {
    return this.profile.events.push({ name, unit, samples: 0, sumPeriod: 0n, lost: 0n }) - 1;
  }

  /** The frame of an address (int32 halves). */
  frameOf(lo: number, hi: number): number {
    const known = this.#frames.find(lo, hi, 0);
    if (known >= 0) return known;
    const place = this.#functions?.placeOf(lo, hi) ?? null;
    const mode = hi < 0 ? MODE_KERNEL : MODE_USER;
    if (place === null) return this.#addFrame(UNKNOWN_BINARY, NONE, lo, hi, 0, mode);
    const { binary, symbol, offset } = place;
    const row = this.#binaryRow(binary);
    const isNamed = symbol >= 0;
    return this.#addFrame(
      row,
      isNamed ? this.#symbolRow(row, binary.symbols!.name(symbol)) : NONE,
      offset | 0,
      Math.floor(offset / 0x1_0000_0000) | 0,
      isNamed ? offset - binary.symbols!.start(symbol) : 0,
      mode,
    );
  }

  /** The frame of what was not traced. */
  untracedFrame(): number {
    if (this.#untraced !== NONE) return this.#untraced;
    // An address that no code has keeps its row apart.
    this.#frames.find(0, 0, 1);
    this.#untraced = this.#addFrame(
      UNKNOWN_BINARY,
      this.#symbolRow(UNKNOWN_BINARY, '[not traced]'),
      0,
      0,
      0,
      MODE_USER,
    );
    return this.#untraced;
  }

  stackOf(prefix: number, frame: number): number {
    const known = this.#stacks.find(prefix, frame, 0);
    if (known >= 0) return known;
    this.profile.stacks.prefix.push(prefix);
    return this.profile.stacks.frame.push(frame);
  }

  /** So much of an event with one stack: as many samples of one each. */
  addWeight(event: number, stack: number, weight: number): void {
    if (!(weight > 0)) return;
    const { samples, threads, events } = this.profile;
    samples.timeNs.push(Number.NaN);
    samples.thread.push(0);
    samples.comm.push(threads.comm.at(0));
    samples.cpu.push(NONE);
    samples.event.push(event);
    samples.stack.push(stack);
    samples.weight.push(weight);
    samples.count.push(weight);
    const facts = events[event]!;
    facts.samples += weight;
    facts.sumPeriod += BigInt(Math.round(weight));
  }

  /** What is missing from the counts. */
  setLoss(overflows: number, errors: readonly FlowErrorCount[], instructionsLeftOut = 0): void {
    const loss = new LossLedger();
    if (overflows > 0) loss.add({ kind: 'trace-overflow', count: BigInt(overflows) });
    if (instructionsLeftOut > 0) loss.add({ kind: 'profile-full', count: BigInt(instructionsLeftOut) });
    this.profile.loss = loss.list();
    this.profile.damage = errors.map(({ code, count, firstOffset }) => ({
      code: `pt-${code}`,
      count,
      firstOffset,
    }));
  }

  #addFrame(
    binary: number,
    symbol: number,
    lo: number,
    hi: number,
    symbolOffset: number,
    mode: number,
  ): number {
    const { frames } = this.profile;
    frames.symbol.push(symbol);
    frames.addressLo.push(lo);
    frames.addressHi.push(hi);
    frames.symbolOffset.push(symbolOffset);
    frames.mode.push(mode);
    frames.jitCode.push(NONE);
    frames.source.push(NONE);
    return frames.binary.push(binary);
  }

  #binaryRow(binary: PlacedBinary): number {
    let row = this.#binaries.get(binary);
    if (row === undefined) {
      const { path, buildId } = binary;
      const name = path.slice(path.lastIndexOf('/') + 1);
      row = this.profile.binaries.push({ path, name, buildId, kind: 'user' }) - 1;
      this.#binaries.set(binary, row);
    }
    return row;
  }

  #symbolRow(binary: number, name: string): number {
    const { strings, symbols } = this.profile;
    const text = strings.intern(name);
    const key = `${binary} ${text}`;
    let row = this.#symbols.get(key);
    if (row === undefined) {
      symbols.name.push(text);
      row = symbols.binary.push(binary);
      this.#symbols.set(key, row);
    }
    return row;
  }
}
