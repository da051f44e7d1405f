/** Takes the rows of line programs as they are made, sequence by sequence. */
export interface RowSink {
  /** How many there were. */
  readonly length: number;
  push(address: number, file: number, line: number, flags: number, column: number): void;
}

/** Rows of line tables as they are read: in columns, sequence by sequence. */
export class LineRows implements RowSink {
  length = 0;
  address = new Float64Array(1024);
  /** Number of a file among all units'. */
  file = new Int32Array(1024);
  line = new Uint32Array(1024);
  /** From 1; 0: the line as a whole. */
  column = new Uint16Array(1024);
  flags = new Uint8Array(1024);

  push(address: number, file: number, line: number, flags: number, column = 0): void {
    if (this.length === this.address.length) this.#grow();
    const row = this.length++;
    this.address[row] = address;
    this.file[row] = file;
    this.line[row] = line;
    this.column[row] = column;
    this.flags[row] = flags;
  }

  #grow(): void {
    const capacity = this.length * 2;
    const { address, file, line, column, flags } = this;
    this.address = new Float64Array(capacity);
    this.address.set(address);
    this.file = new Int32Array(capacity);
    this.file.set(file);
    this.line = new Uint32Array(capacity);
    this.line.set(line);
    this.column = new Uint16Array(capacity);
    this.column.set(column);
    this.flags = new Uint8Array(capacity);
    this.flags.set(flags);
  }
}

/** A debugger may stop here: a statement begins. */
export const ROW_IS_STATEMENT = 1;
/** No code of the sequence is here or behind: the row has no line. */
export const ROW_ENDS_SEQUENCE = 2;
