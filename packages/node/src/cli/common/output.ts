import { fstatSync, writeSync } from 'node:fs';
import { CounterpointError, printableJson } from '@counterpoint/core/base';
import { isOutputFailure, WriteError } from '../../host/files/write-error.ts';
import { colorsWanted, PLAIN, STYLED, type Styles, terminalText } from './styles.ts';
import { formatTable, type TableColumn } from './table.ts';
import { TerminalBytes } from './terminal-bytes.ts';

/** Where text goes in the end: a descriptor, or a string in tests. */
export interface TextSink {
  write(text: string | Uint8Array): void;
  readonly isTerminal: boolean;
  /** Width of the terminal, 0 if there is none. */
  columns(): number;
}

const BUFFER_LENGTH = 64 * 1024;

/**
 * What a terminal is told to do, by name: nobody else writes escape sequences (xterm's and
 * DEC's private modes; ECMA-48).
 */
const CONTROLS = {
  /** The alternate screen, without a cursor, with lines that are cut and not wrapped. */
  enterScreen: '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J',
  leaveScreen: '\x1b[?7h\x1b[?25h\x1b[?1049l',
} as const;
const HOME = '\x1b[H';
const CLEAR_TO_END = '\x1b[K';
const CLEAR_LINE = `\r${CLEAR_TO_END}`;

/**
 * Text for a person or a program, and the only way to standard output and standard error. Names of programs,
 * files, events and users are in it, and what a terminal would obey in them is shown as `\x1b`: always, since
 * what goes into a pipe or a file is looked at on a terminal later.
 *
 * Writes are collected and leave in large pieces; on a terminal, line by line. Nothing is ever wrapped: what
 * is too long for the screen is still whole in a pipe.
 */
export class Output {
  readonly isTerminal: boolean;
  /** A terminal that knows escape sequences. */
  readonly canOverwrite: boolean;
  /** Functions that colour text, or leave it as it is. */
  readonly style: Styles;
  readonly #sink: TextSink;
  readonly #utf8 = new TerminalBytes();
  #pieces: string[] = [];
  #length = 0;
  /** Takes a transient line (progress) away before anything else is written. */
  #erase: (() => void) | null = null;

  constructor(sink: TextSink, env: Record<string, string | undefined> = process.env) {
    this.#sink = sink;
    this.isTerminal = sink.isTerminal;
    this.canOverwrite = sink.isTerminal && env['TERM'] !== 'dumb';
    this.style = colorsWanted(sink.isTerminal, env) ? STYLED : PLAIN;
  }

  get columns(): number {
    return this.#sink.columns();
  }

  write(text: string): void {
    this.#erase?.();
    this.#pieces.push(text);
    this.#length += text.length;
    if (this.isTerminal || this.#length >= BUFFER_LENGTH) this.flush();
  }

  /** Text that is UTF-8 already, in pieces of any size. */
  utf8(bytes: Uint8Array): void {
    this.#erase?.();
    if (this.#pieces.length > 0) this.flush();
    this.#sink.write(this.#utf8.take(bytes));
  }

  /** Bytes of a binary format, as they are. Refused on a terminal, which would obey them. */
  binary(bytes: Uint8Array): void {
    if (this.isTerminal)
      throw new CounterpointError(
        'ERR_BINARY_OUTPUT',
        'the format is binary, and standard output is a terminal',
        'Send it to a file or a pipe.',
      );
    this.#erase?.();
    this.flush();
    this.#sink.write(bytes);
  }

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  /** One JSON document, for `--json`. */
  json(value: unknown): void {
    this.line(printableJson(value, 2));
  }

  table(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): void {
    this.write(formatTable(columns, rows, this.style));
  }

  flush(): void {
    const held = this.#utf8.end();
    if (held.length > 0) this.#sink.write(held);
    if (this.#pieces.length === 0) return;
    const text = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#sink.write(terminalText(text));
  }

  /** For `ProgressLine`: what to do before the next write. */
  setTransient(erase: (() => void) | null): void {
    this.#erase = erase;
  }

  /** For `ProgressLine`: write over the line, past what comes before the next write. */
  writeTransient(text: string): void {
    this.flush();
    this.#sink.write(CLEAR_LINE + terminalText(text.replaceAll('\n', ' ')));
  }

  /** For `Terminal`. */
  control(name: keyof typeof CONTROLS): void {
    this.flush();
    this.#sink.write(CONTROLS[name]);
  }

  /** For `Terminal`: lines over the screen before. */
  screen(lines: readonly string[]): void {
    this.flush();
    const text = lines
      .map((line) => `${terminalText(line.replaceAll('\n', ' '))}${CLEAR_TO_END}`)
      .join('\r\n');
    this.#sink.write(HOME + text);
  }
}

/** The reader of our output went away (`counterpoint report | head`): the end, and not an error. */
export class OutputClosed extends Error {
  constructor() {
    super('the reader of the output has closed it');
    this.name = 'OutputClosed';
  }
}

/**
 * A descriptor written synchronously. `process.stdout` is asynchronous on pipes, so that `process.exit` cuts
 * off what it still holds, and a slow reader lets it grow without bound.
 */
export function descriptorSink(descriptor: number, name: string): TextSink {
  const isTerminal = isTerminalDescriptor(descriptor);
  return {
    isTerminal,
    columns: () => (isTerminal ? ((descriptor === 2 ? process.stderr : process.stdout).columns ?? 0) : 0),
    write: (text) => writeAll(descriptor, name, typeof text === 'string' ? Buffer.from(text) : text),
  };
}

/** Major number of /dev/null, /dev/zero and /dev/full (linux/major.h, MEM_MAJOR). */
const MEMORY_DEVICES = 1;

/**
 * A character device that is not /dev/null. `node:tty` would ask the kernel, but loading it takes 3 ms of the
 * start of every command (measured: 2.7 to 4.6), because it brings all of `node:net`.
 */
function isTerminalDescriptor(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor);
    return status.isCharacterDevice() && ((status.rdev >> 8) & 0xfff) !== MEMORY_DEVICES;
  } catch {
    // Closed by who started us.
    return false;
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));

function writeAll(descriptor: number, name: string, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') throw new OutputClosed();
      if (isOutputFailure(error)) throw new WriteError(name, error);
      if (code !== 'EAGAIN') throw error;
      // Somebody else made the shared terminal or pipe non-blocking: wait for the reader.
      Atomics.wait(pause, 0, 0, 2);
    }
  }
}
