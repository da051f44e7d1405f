/** Calls as lines: a tree for people, an object a line for programs. */
import { printable, printableJson, TWO_32, toHex } from '@counterpoint/core/base';
import {
  type AddressTable,
  CALL_NEAR,
  CALL_UNTRACED,
  type CallRecord,
  type CodeFunctions,
  LEFT_RETURN,
  NO_ROW,
  type PerfClock,
  tscToPerfNs,
  tscToPerfTime,
} from '@counterpoint/trace/intel-pt';
import { UsageError } from '../../common/usage-error.ts';
import { DecimalText } from './decimal-text.ts';
import { type LineBytes, textBytes } from './line-bytes.ts';
import { RowCache } from './row-cache.ts';
import type { TimeScale, TraceTime } from './time.ts';

/** Names of rows, each looked up once. */
export class RowNames {
  readonly #addresses: AddressTable;
  readonly #functions: CodeFunctions;
  readonly #names = new RowCache<string>();

  constructor(addresses: AddressTable, functions: CodeFunctions) {
    this.#addresses = addresses;
    this.#functions = functions;
  }

  hexOf(row: number): string | null {
    if (row === NO_ROW) return null;
    return `0x${toHex(this.#addresses.loOf(row) >>> 0, this.#addresses.hiOf(row) >>> 0)}`;
  }

  /** Its function's name, or null. */
  symbolOf(row: number): string | null {
    if (row === NO_ROW) return null;
    return this.#functions.nameOf(this.#addresses.loOf(row), this.#addresses.hiOf(row));
  }

  /** For people: a name or the address. */
  of(row: number): string {
    if (row === NO_ROW) return '[unknown]';
    return this.#names.get(row) ?? this.#names.set(row, printable(this.symbolOf(row) ?? this.hexOf(row)!));
  }
}

/**
 * Which calls are shown: those that begin between two times, above a depth. Throws UsageError
 * where no time is between them.
 */
export class CallFilter {
  readonly #from: TraceTime | null;
  readonly #to: TraceTime | null;
  readonly #mostDepth: number;
  #fromTicks = Number.NaN;
  #toTicks = Number.NaN;
  #hasShown = false;
  #firstTicks = Number.POSITIVE_INFINITY;
  #lastTicks = Number.NEGATIVE_INFINITY;

  constructor(from: TraceTime | null, to: TraceTime | null, mostDepth: number) {
    this.#from = from;
    this.#to = to;
    this.#mostDepth = mostDepth;
    // Two times of one kind can be compared before a long trace is decoded.
    if (from !== null && to !== null && from.isSinceStart === to.isSinceStart)
      this.#check(from.ticks(0n), to.ticks(0n));
  }

  /** Asks for times. */
  get isTimed(): boolean {
    return this.#from !== null || this.#to !== null;
  }

  #check(fromTicks: number, toTicks: number): void {
    if (fromTicks > toTicks)
      throw new UsageError(
        `${this.#from!.shown} is later than ${this.#to!.shown}: no call begins between them`,
      );
  }

  /**
   * Why nothing was shown of a trace that has calls: they begin at other times. Null where
   * something was, or there are none.
   */
  whyNothing(scale: TimeScale): string | null {
    if (this.#hasShown || !this.isTimed || this.#firstTicks > this.#lastTicks) return null;
    const asked = [this.#from?.shown, this.#to?.shown].filter((text) => text !== undefined).join(' and ');
    const unit = scale.startUnit;
    const [first, last] = [scale.sinceStart(this.#firstTicks), scale.sinceStart(this.#lastTicks)];
    return `no call begins within ${asked}: calls of this trace begin between ${first} and ${last} ${unit} after its start`;
  }

  shows(call: Readonly<CallRecord>, baseTsc: bigint | null): boolean {
    const isShown = this.#isWanted(call, baseTsc);
    if (isShown) this.#hasShown = true;
    return isShown;
  }

  #isWanted(call: Readonly<CallRecord>, baseTsc: bigint | null): boolean {
    if (call.depth >= this.#mostDepth) return false;
    if (!this.isTimed) return true;
    if (baseTsc === null) return false;
    if (Number.isNaN(this.#fromTicks)) {
      this.#fromTicks = this.#from?.ticks(baseTsc) ?? Number.NEGATIVE_INFINITY;
      this.#toTicks = this.#to?.ticks(baseTsc) ?? Number.POSITIVE_INFINITY;
      this.#check(this.#fromTicks, this.#toTicks);
    }
    if (call.enterTicks < this.#firstTicks) this.#firstTicks = call.enterTicks;
    if (call.enterTicks > this.#lastTicks) this.#lastTicks = call.enterTicks;
    return call.enterTicks >= this.#fromTicks && call.enterTicks <= this.#toTicks;
  }
}

const TIME_WIDTH = 14;
const DURATION_WIDTH = 11;
const COUNT_WIDTH = 12;
/** Deeper ones are not indented further. */
const MOST_INDENT = 60;
const OPENS = textBytes(' {');
const CLOSES = textBytes('} ');
const NOT_TRACED = textBytes('[not traced]');

/**
 * A call without others inside is one line; else one where it begins and one where it
 * ends, which has what it took:
 *
 *            us    duration  instructions
 *         0.010                            main {
 *         0.012       35 ns            40    parse
 *                    120 ns           151  } main
 *
 * Without the columns of times where the trace has none.
 */
export class CallTreeText {
  readonly #names: RowNames;
  readonly #nameBytes = new RowCache<Uint8Array>();
  readonly #scale: TimeScale;
  readonly #lines: LineBytes;
  /** The call that began last, while nothing was called in it. */
  readonly #pending = { isThere: false, depth: 0, ticks: 0, name: NOT_TRACED };
  /** Known with the first line; null before. */
  #hasTimes: boolean | null = null;

  constructor(names: RowNames, scale: TimeScale, lines: LineBytes) {
    this.#names = names;
    this.#scale = scale;
    this.#lines = lines;
  }

  /** `hasTimes`: the trace has told of time by now. */
  enter(call: Readonly<CallRecord>, hasTimes: boolean): void {
    if (this.#hasTimes === null) this.#head(hasTimes);
    this.#open();
    const pending = this.#pending;
    pending.isThere = true;
    pending.depth = call.depth;
    pending.ticks = call.enterTicks;
    pending.name = this.#nameOf(call);
  }

  leave(call: Readonly<CallRecord>): void {
    const pending = this.#pending;
    const isWhole = pending.isThere && pending.depth === call.depth;
    const lines = this.#lines;
    this.#times(isWhole ? pending.ticks : Number.NaN, call.durationTicks);
    if (call.kind === CALL_UNTRACED) lines.spaces(COUNT_WIDTH + 2);
    else lines.number(call.instructions, COUNT_WIDTH + 2);
    this.#indent(call.depth);
    if (!isWhole) lines.bytes(CLOSES);
    lines.bytes(isWhole ? pending.name : this.#nameOf(call));
    const marks = marksOf(call);
    if (marks !== '') lines.text(marks, 0);
    lines.endLine();
    pending.isThere = false;
  }

  finish(): void {
    this.#lines.flush();
  }

  #head(hasTimes: boolean): void {
    this.#hasTimes = hasTimes;
    if (hasTimes) {
      this.#lines.text(this.#scale.startUnit, TIME_WIDTH);
      this.#lines.text('duration', DURATION_WIDTH);
    }
    this.#lines.text('instructions', COUNT_WIDTH + 2);
    this.#lines.endLine();
  }

  #open(): void {
    const pending = this.#pending;
    if (!pending.isThere) return;
    this.#times(pending.ticks, Number.NaN);
    this.#lines.spaces(COUNT_WIDTH + 2);
    this.#indent(pending.depth);
    this.#lines.bytes(pending.name);
    this.#lines.bytes(OPENS);
    this.#lines.endLine();
  }

  /** NaN: no such time. */
  #times(startTicks: number, durationTicks: number): void {
    if (this.#hasTimes !== true) return;
    const ns = this.#scale.nsSinceStart(startTicks);
    if (ns >= 0) this.#lines.thousandths(ns, TIME_WIDTH);
    else this.#lines.text(this.#scale.sinceStart(startTicks), TIME_WIDTH);
    this.#lines.text(this.#scale.duration(durationTicks), DURATION_WIDTH);
  }

  #indent(depth: number): void {
    this.#lines.spaces(2 + 2 * Math.min(depth, MOST_INDENT));
  }

  #nameOf(call: Readonly<CallRecord>): Uint8Array {
    if (call.kind === CALL_UNTRACED) return NOT_TRACED;
    const row = call.functionRow;
    return this.#nameBytes.get(row) ?? this.#nameBytes.set(row, textBytes(this.#names.of(row)));
  }
}

/** What is not as it should be of a call. */
function marksOf(call: Readonly<CallRecord>): string {
  const marks: string[] = [];
  if (call.kind !== CALL_NEAR && call.kind !== CALL_UNTRACED) marks.push(call.kindName);
  if (call.left !== LEFT_RETURN) marks.push(call.leftName);
  if (call.isUnsure) marks.push('unsure');
  return marks.length === 0 ? '' : `  # ${marks.join(', ')}`;
}

/** Above this a time is not exact as a number. */
const EXACT = 2n ** 53n;

/**
 * Calls as JSON, a line each: 64-bit values as decimal strings, addresses as hex, what is not known as null.
 */
export class CallJson {
  readonly #names: RowNames;
  readonly #scale: TimeScale;
  /** Row -> what JSON says of it: the same functions are called again and again. */
  readonly #functions = new RowCache<string>();
  readonly #callers = new RowCache<string>();
  readonly #decimal = new DecimalText();

  constructor(names: RowNames, scale: TimeScale) {
    this.#names = names;
    this.#scale = scale;
  }

  line(call: Readonly<CallRecord>, baseTsc: bigint | null): string {
    const { clock } = this.#scale;
    const { enterTicks, leaveTicks } = call;
    let times = `"enterTsc":${tscText(this.#decimal, enterTicks, baseTsc)},"leaveTsc":${tscText(this.#decimal, leaveTicks, baseTsc)}`;
    if (clock !== undefined)
      times += `,"enterNs":${nsText(this.#decimal, enterTicks, baseTsc, clock)},"leaveNs":${nsText(this.#decimal, leaveTicks, baseTsc, clock)}`;
    return (
      `{"type":"call",${this.#function(call.functionRow)},"caller":${this.#caller(call.callerRow)},` +
      `"depth":${call.depth},"kind":"${call.kindName}","left":"${call.leftName}","unsure":${call.isUnsure},${times},` +
      `"enterErrorTicks":${numberText(call.enterErrorTicks)},"leaveErrorTicks":${numberText(call.leaveErrorTicks)},` +
      `"instructions":"${call.instructions}","ownInstructions":"${call.ownInstructions}","branches":"${call.branches}"}`
    );
  }

  #function(row: number): string {
    if (row === NO_ROW) return '"function":null,"name":null';
    return (
      this.#functions.get(row) ??
      this.#functions.set(
        row,
        `"function":"${this.#names.hexOf(row)}","name":${printableJson(this.#names.symbolOf(row))}`,
      )
    );
  }

  #caller(row: number): string {
    if (row === NO_ROW) return 'null';
    return this.#callers.get(row) ?? this.#callers.set(row, `"${this.#names.hexOf(row)}"`);
  }
}

function tscText(decimal: DecimalText, ticks: number, baseTsc: bigint | null): string {
  if (Number.isNaN(ticks) || baseTsc === null) return 'null';
  if (baseTsc < EXACT >> 1n) return `"${decimal.of(Number(baseTsc) + ticks)}"`;
  return `"${baseTsc + BigInt(ticks)}"`;
}

function nsText(decimal: DecimalText, ticks: number, baseTsc: bigint | null, clock: PerfClock): string {
  if (Number.isNaN(ticks) || baseTsc === null) return 'null';
  if (baseTsc < EXACT >> 1n && clock.timeZero < EXACT >> 1n) {
    const tsc = Number(baseTsc) + ticks;
    const ns = tscToPerfNs(clock, tsc % TWO_32, Math.floor(tsc / TWO_32));
    if (Number.isSafeInteger(ns)) return `"${decimal.of(ns)}"`;
  }
  return `"${tscToPerfTime(clock, baseTsc + BigInt(ticks))}"`;
}

function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null';
}

/** Halves of an address, for tables. */
export function halvesOf(address: bigint): { lo: number; hi: number } {
  return { lo: Number(BigInt.asIntN(32, address)), hi: Number(BigInt.asIntN(32, address >> 32n)) };
}
