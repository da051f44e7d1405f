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
} from '@counterpoint/core/trace';
import { UsageError } from './args.ts';
import { DecimalText } from './decimal-text.ts';
import type { TimeScale, TraceTime } from './pt-time.ts';

/** Names of rows, each looked up once. */
export class RowNames {
  readonly #addresses: AddressTable;
  readonly #functions: CodeFunctions;
  readonly #names: (string | undefined)[] = [];

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
    let name = this.#names[row];
    if (name === undefined) {
      name = printable(this.symbolOf(row) ?? this.hexOf(row)!);
      this.#names[row] = name;
    }
    return name;
  }
}

/** Which calls are shown: those that begin between two times, above a depth. Throws UsageError where no time is between them. */
export class CallFilter {
  readonly #from: TraceTime | null;
  readonly #to: TraceTime | null;
  readonly #mostDepth: number;
  #fromTicks = Number.NaN;
  #toTicks = Number.NaN;

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

  shows(call: Readonly<CallRecord>, baseTsc: bigint | null): boolean {
    if (call.depth >= this.#mostDepth) return false;
    if (!this.isTimed) return true;
    if (baseTsc === null) return false;
    if (Number.isNaN(this.#fromTicks)) {
      this.#fromTicks = this.#from?.ticks(baseTsc) ?? Number.NEGATIVE_INFINITY;
      this.#toTicks = this.#to?.ticks(baseTsc) ?? Number.POSITIVE_INFINITY;
      this.#check(this.#fromTicks, this.#toTicks);
    }
    return call.enterTicks >= this.#fromTicks && call.enterTicks <= this.#toTicks;
  }
}

const TIME_WIDTH = 14;
const DURATION_WIDTH = 11;
const COUNT_WIDTH = 12;
/** Deeper ones are not indented further. */
const MOST_INDENT = 60;
const INDENTS: readonly string[] = Array.from({ length: MOST_INDENT + 1 }, (_, depth) => '  '.repeat(depth));

/**
 * A call without others inside is one line; else one where it begins and one where it ends, which has what it took:
 *
 *            us    duration  instructions
 *         0.010                            main {
 *         0.012       35 ns            40    parse
 *                    120 ns           151  } main
 */
export class CallTreeText {
  readonly #names: RowNames;
  readonly #scale: TimeScale;
  readonly #write: (line: string) => void;
  /** The call that began last, while nothing was called in it. */
  #pending: { depth: number; ticks: number; name: string } | null = null;

  constructor(names: RowNames, scale: TimeScale, write: (line: string) => void) {
    this.#names = names;
    this.#scale = scale;
    this.#write = write;
    write(
      `${scale.startUnit.padStart(TIME_WIDTH)}${'duration'.padStart(DURATION_WIDTH)}${'instructions'.padStart(COUNT_WIDTH + 2)}`,
    );
  }

  enter(call: Readonly<CallRecord>): void {
    this.#open();
    this.#pending = { depth: call.depth, ticks: call.enterTicks, name: this.#nameOf(call) };
  }

  leave(call: Readonly<CallRecord>): void {
    const duration = this.#scale.duration(call.durationTicks);
    const count = call.kind === CALL_UNTRACED ? '' : String(call.instructions);
    const pending = this.#pending;
    const marks = marksOf(call);
    if (pending !== null && pending.depth === call.depth)
      this.#line(pending.ticks, duration, count, call.depth, `${pending.name}${marks}`);
    else this.#line(Number.NaN, duration, count, call.depth, `} ${this.#nameOf(call)}${marks}`);
    this.#pending = null;
  }

  #open(): void {
    const pending = this.#pending;
    if (pending !== null) this.#line(pending.ticks, '', '', pending.depth, `${pending.name} {`);
  }

  #line(ticks: number, duration: string, count: string, depth: number, text: string): void {
    const indent = INDENTS[Math.min(depth, MOST_INDENT)]!;
    const time = this.#scale.sinceStart(ticks).padStart(TIME_WIDTH);
    this.#write(
      `${time}${duration.padStart(DURATION_WIDTH)}${count.padStart(COUNT_WIDTH + 2)}  ${indent}${text}`,
    );
  }

  #nameOf(call: Readonly<CallRecord>): string {
    return call.kind === CALL_UNTRACED ? '[not traced]' : this.#names.of(call.functionRow);
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

/** Calls as JSON, a line each: 64-bit values as decimal strings, addresses as hex, what is not known as null. */
export class CallJson {
  readonly #names: RowNames;
  readonly #scale: TimeScale;
  /** Row -> what JSON says of it: the same functions are called again and again. */
  readonly #functions: (string | undefined)[] = [];
  readonly #callers: (string | undefined)[] = [];
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
    let text = this.#functions[row];
    if (text === undefined) {
      text = `"function":"${this.#names.hexOf(row)}","name":${printableJson(this.#names.symbolOf(row))}`;
      this.#functions[row] = text;
    }
    return text;
  }

  #caller(row: number): string {
    if (row === NO_ROW) return 'null';
    let text = this.#callers[row];
    if (text === undefined) {
      text = `"${this.#names.hexOf(row)}"`;
      this.#callers[row] = text;
    }
    return text;
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
