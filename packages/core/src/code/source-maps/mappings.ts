/**
 * The table of a source map (`mappings`): segments in base 64, each counted from the one before.
 *
 *     AAAA,IAAMA;CACA      `;` begins a line of the code, `,` a segment
 *     │└┴┴ source, line and column in it
 *     └ column in the line of the code; a fifth number is a name
 */
export interface Mappings {
  /** By line of the code, from 0: its first row. One more at the end. */
  readonly lineStart: Int32Array;
  /** In the line of the code, from 0; ascending. */
  readonly column: Int32Array;
  /** -1: this code is of no source. */
  readonly source: Int32Array;
  /** From 0. */
  readonly sourceLine: Int32Array;
  readonly sourceColumn: Int32Array;
  /** -1: none. */
  readonly name: Int32Array;
  /**
   * Line of the code, from 0, from which on nothing is known, since a segment is damaged; -1: all is well.
   */
  readonly damagedLine: number;
  /** Segments that lead to no source, line or name that there is. */
  readonly outside: number;
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const NO_DIGIT = 64;
const CONTINUES = 32;
const LOW_BITS = 31;
/** Of a 32-bit number and its sign: 5 bits each. */
const MOST_DIGITS = 7;
const MOST_FIELDS = 5;

/** Value of each ASCII character in base 64. */
const DIGITS: Uint8Array = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, code) => {
  const at = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(
    String.fromCharCode(code),
  );
  return at < 0 ? NO_DIGIT : at;
});

/** How many sources and names a segment can mean. */
export interface MappingLimits {
  sources: number;
  names: number;
}

/** Never throws. Takes 20 bytes for each segment. */
export function decodeMappings(text: string, limits: MappingLimits): Mappings {
  return new MappingDecoder(text, limits).decode();
}

class MappingDecoder {
  readonly #text: string;
  readonly #limits: MappingLimits;
  readonly #lineStart: Int32Array;
  readonly #column: Int32Array;
  readonly #source: Int32Array;
  readonly #sourceLine: Int32Array;
  readonly #sourceColumn: Int32Array;
  readonly #name: Int32Array;
  #rows = 0;
  #outside = 0;
  #at = 0;
  /** Values of a segment, and how many it has. */
  readonly #fields = new Float64Array(MOST_FIELDS);
  #fieldCount = 0;

  constructor(text: string, limits: MappingLimits) {
    this.#text = text;
    this.#limits = limits;
    let lines = 1;
    let segments = 1;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === SEMICOLON) lines++;
      if (code === SEMICOLON || code === COMMA) segments++;
    }
    // One more row where damage ends a line.
    segments++;
    this.#lineStart = new Int32Array(lines + 1);
    this.#column = new Int32Array(segments);
    this.#source = new Int32Array(segments);
    this.#sourceLine = new Int32Array(segments);
    this.#sourceColumn = new Int32Array(segments);
    this.#name = new Int32Array(segments);
  }

  decode(): Mappings {
    const text = this.#text;
    const sums = new Float64Array(MOST_FIELDS);
    let line = 0;
    let damagedLine = -1;
    for (; this.#at <= text.length; this.#at++) {
      if (!this.#readFields()) {
        // What the segment before means is sure at its own column only.
        if (this.#rows > this.#lineStart[line]!) this.#add(sums[0]! + 1, -1, 0, 0, -1);
        damagedLine = line;
        break;
      }
      if (this.#fieldCount > 0) this.#addSegment(sums);
      if (text.charCodeAt(this.#at) !== SEMICOLON) continue;
      this.#sortLine(this.#lineStart[line]!);
      line++;
      this.#lineStart[line] = this.#rows;
      sums[0] = 0;
    }
    this.#sortLine(this.#lineStart[line]!);
    this.#lineStart.fill(this.#rows, line + 1);
    const rows = this.#rows;
    return {
      lineStart: this.#lineStart,
      column: this.#column.subarray(0, rows),
      source: this.#source.subarray(0, rows),
      sourceLine: this.#sourceLine.subarray(0, rows),
      sourceColumn: this.#sourceColumn.subarray(0, rows),
      name: this.#name.subarray(0, rows),
      damagedLine,
      outside: this.#outside,
    };
  }

  /** Up to the next `,` or `;`, or the end. False: it is no segment. */
  #readFields(): boolean {
    const text = this.#text;
    let count = 0;
    let value = 0;
    let digits = 0;
    for (; this.#at < text.length; this.#at++) {
      const code = text.charCodeAt(this.#at);
      if (code === COMMA || code === SEMICOLON) break;
      const digit = code < DIGITS.length ? DIGITS[code]! : NO_DIGIT;
      if (digit === NO_DIGIT || count === MOST_FIELDS || digits === MOST_DIGITS) return false;
      value += (digit & LOW_BITS) * 32 ** digits++;
      if (digit >= CONTINUES) continue;
      const half = Math.floor(value / 2);
      this.#fields[count++] = value % 2 === 0 ? half : -half;
      value = digits = 0;
    }
    this.#fieldCount = count;
    return digits === 0 && count !== 2 && count !== 3;
  }

  #addSegment(sums: Float64Array): void {
    for (let field = 0; field < this.#fieldCount; field++) sums[field]! += this.#fields[field]!;
    const [column = 0, source = 0, sourceLine = 0, sourceColumn = 0, name = 0] = sums;
    const hasName = this.#fieldCount === MOST_FIELDS;
    if (column < 0 || column > MOST_POSITION) {
      this.#outside++;
      return;
    }
    if (this.#fieldCount === 1) this.#add(column, -1, 0, 0, -1);
    else if (
      isBelow(source, this.#limits.sources) &&
      isBelow(sourceLine, MOST_POSITION) &&
      isBelow(sourceColumn, MOST_POSITION)
    ) {
      const isName = hasName && isBelow(name, this.#limits.names);
      if (hasName && !isName) this.#outside++;
      this.#add(column, source, sourceLine, sourceColumn, isName ? name : -1);
    } else {
      this.#outside++;
      this.#add(column, -1, 0, 0, -1);
    }
  }

  #add(column: number, source: number, sourceLine: number, sourceColumn: number, name: number): void {
    const row = this.#rows++;
    this.#column[row] = column;
    this.#source[row] = source;
    this.#sourceLine[row] = sourceLine;
    this.#sourceColumn[row] = sourceColumn;
    this.#name[row] = name;
  }

  /** Most writers put them in order. */
  #sortLine(start: number): void {
    const columns = this.#column;
    let isSorted = true;
    for (let row = start + 1; row < this.#rows && isSorted; row++)
      isSorted = columns[row - 1]! <= columns[row]!;
    if (isSorted) return;
    const order = Array.from({ length: this.#rows - start }, (_, index) => start + index);
    order.sort((a, b) => columns[a]! - columns[b]! || a - b);
    for (const table of [columns, this.#source, this.#sourceLine, this.#sourceColumn, this.#name])
      table.set(
        order.map((row) => table[row]!),
        start,
      );
  }
}

const MOST_POSITION = 0x7fff_fffe;

function isBelow(value: number, limit: number): boolean {
  return value >= 0 && value < limit;
}

/** The row that a place in the code is of, both from 0; -1: none. */
export function findMapping({ lineStart, column: columns }: Mappings, line: number, column: number): number {
  if (line < 0 || line >= lineStart.length - 1) return -1;
  const first = lineStart[line]!;
  let low = first;
  let high = lineStart[line + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (columns[middle]! <= column) low = middle + 1;
    else high = middle;
  }
  return low === first ? -1 : low - 1;
}
