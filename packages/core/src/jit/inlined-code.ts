import { FormatError, TWO_32 } from '../base/index.ts';
import { joinVarints, VarintReader, VarintWriter } from './varints.ts';

/**
 * Optimised code has the code of the functions that it calls inside it. What V8 knows of one such piece
 * of code: which function was put where, and which instruction belongs to which of them.
 *
 *     outer()                        code of `outer`
 *       middle()   inlined: call 0     0x00  outer  14:15
 *         inner()  inlined: call 1     0x41  inner   3:17   in call 1, which is in call 0
 */
export interface InlinedCode {
  /** The name as the perf map has it, with the tier. */
  recordedName: string;
  /** Where the recorded name does not say which function it is, because `eval` made it. */
  functionName?: string;
  /** Address of the first byte, and length in bytes. */
  start: number;
  /** Of the code, in bytes. */
  size: number;
  /** Calls whose function is inside; a caller comes before what it calls. */
  calls: readonly InlinedCall[];
  /** Where instructions come from, by ascending offset. */
  positions: readonly CodePosition[];
}

/** A call whose function is inside the code of its caller. */
export interface InlinedCall {
  /** As a perf map writes it. */
  functionName: string;
  /** The call that this one is in; -1: the function that was compiled. */
  parent: number;
  /** Where in the function that it is in. From 1; 0: unknown. */
  line: number;
  /** Of that place. From 1; 0: unknown. */
  column: number;
}

/** From which line of which function instructions come, from an offset on. */
export interface CodePosition {
  /** Of the first instruction, from the start of the code. It holds until the next position. */
  offset: number;
  /** Row of `calls`, or -1: the function that was compiled. */
  call: number;
  /** From 1; 0: unknown. */
  line: number;
  /** From 1; 0: unknown. */
  column: number;
}

const VERSION = 3;
/** Had no names of functions that `eval` made. */
const VERSION_WITHOUT_OWN_NAMES = 2;
/** Had no places of calls. */
const VERSION_WITHOUT_PLACES = 1;
/** A program has fewer of them; what says more is damaged. */
const MOST_NAMES = 1 << 20;

/**
 * All pieces of one process, as varints (LEB128). A program may make code for as long as it runs: a
 * piece is some hundred bytes here, and a hundred times that as objects.
 *
 *     version | names: count, (length, UTF-8) ... | pieces: count, piece ...
 *     piece    name | name of what `eval` made + 1, or 0 | start: high, low | size | calls: count, (name, parent + 1, line, column) ... | positions: count, position ...
 *     position offset - the one before | call + 1 | line | column
 */
export class InlinedCodeWriter {
  readonly #rows = new Map<string, number>();
  readonly #names = new VarintWriter();
  readonly #pieces = new VarintWriter();
  #count = 0;

  /** Of what was added, without its head. */
  get sizeBytes(): number {
    return this.#names.length + this.#pieces.length;
  }

  /** Pieces that were added. */
  get count(): number {
    return this.#count;
  }

  /** Of two pieces at one place the later one holds. */
  add({ recordedName, functionName, start, size, calls, positions }: InlinedCode): void {
    this.#count++;
    const body = this.#pieces;
    const high = Math.floor(start / TWO_32);
    const own = functionName === undefined ? 0 : this.#rowOf(functionName) + 1;
    body.add(this.#rowOf(recordedName), own, high, start - high * TWO_32, size, calls.length);
    for (const { functionName, parent, line, column } of calls)
      body.add(this.#rowOf(functionName), parent + 1, line, column);
    body.add(positions.length);
    let before = 0;
    for (const { offset, call, line, column } of positions) {
      body.add(offset - before, call + 1, line, column);
      before = offset;
    }
  }

  /** All that was added, as `decodeInlinedCode` reads it. More can be added afterwards. */
  bytes(): Uint8Array<ArrayBuffer> {
    const head = new VarintWriter();
    head.add(VERSION, this.#rows.size);
    const count = new VarintWriter();
    count.add(this.#count);
    return joinVarints([head, this.#names, count, this.#pieces]);
  }

  #rowOf(name: string): number {
    let row = this.#rows.get(name);
    if (row === undefined) {
      row = this.#rows.size;
      this.#rows.set(name, row);
      this.#names.addText(name);
    }
    return row;
  }
}

/**
 * The pieces that an `InlinedCodeWriter` wrote, in that order. Throws FormatError
 * (`ERR_INLINED_CODE`) where the bytes do not hold together.
 */
export function decodeInlinedCode(bytes: Uint8Array): InlinedCode[] {
  const reader = new VarintReader(bytes);
  const version = reader.read();
  if (version !== VERSION && version !== VERSION_WITHOUT_OWN_NAMES && version !== VERSION_WITHOUT_PLACES) {
    throw new FormatError('ERR_INLINED_CODE', 0, `inlined code of version ${VERSION}`, `${version}`);
  }
  const hasPlaces = version !== VERSION_WITHOUT_PLACES;
  const names = Array.from({ length: reader.count(MOST_NAMES) }, () => reader.text());
  const name = () => names[reader.below(names.length)]!;
  return Array.from({ length: reader.count() }, () => {
    const recordedName = name();
    const own = version === VERSION ? reader.below(names.length + 1) : 0;
    const high = reader.read();
    const start = high * TWO_32 + reader.read();
    const size = reader.read();
    const calls = Array.from({ length: reader.count() }, (_, row) => ({
      functionName: name(),
      parent: reader.below(row + 1) - 1,
      line: hasPlaces ? reader.read() : 0,
      column: hasPlaces ? reader.read() : 0,
    }));
    let offset = 0;
    const positions = Array.from({ length: reader.count() }, () => {
      offset += reader.read();
      return { offset, call: reader.below(calls.length + 1) - 1, line: reader.read(), column: reader.read() };
    });
    const piece = { recordedName, start, size, calls, positions };
    return own === 0 ? piece : { ...piece, functionName: names[own - 1]! };
  });
}

/** A function that an instruction belongs to, and where in its source. */
export interface CodePlace {
  /** Row of `InlinedCode.calls`, or -1: the function that was compiled. */
  call: number;
  line: number;
  column: number;
}

/**
 * The functions that an instruction is in, innermost first; the last one is that which was
 * compiled. Empty where nothing is known of the offset.
 */
export function codePlacesAt(code: InlinedCode, offset: number): CodePlace[] {
  let at: CodePlace | null = positionAt(code.positions, offset);
  const places: CodePlace[] = [];
  while (at !== null) {
    const { call, line, column } = at;
    places.push({ call, line, column });
    const outer: InlinedCall | undefined = code.calls[call];
    at = outer === undefined ? null : { call: outer.parent, line: outer.line, column: outer.column };
  }
  return places;
}

function positionAt(positions: readonly CodePosition[], offset: number): CodePosition | null {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (positions[middle]!.offset <= offset) low = middle + 1;
    else high = middle;
  }
  return positions[low - 1] ?? null;
}
