import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isForeignInShared, NamedFile } from '../../../host/files/index.ts';
import { UsageError } from '../../common/usage-error.ts';

/** What may be written to `--control` of stat, a line each; perf's words. */
export const COUNTING_COMMANDS = ['enable', 'disable', 'evlist', 'ping'] as const;

export interface ControlCommand<Name extends string = (typeof COUNTING_COMMANDS)[number]> {
  name: Name;
  /** `enable EVENT`, `evlist -v`; empty without. */
  argument: string;
}

/**
 * Where commands come from, and where a line `ack` answers each command that was done.
 */
export interface ControlPlace {
  kind: 'fd' | 'fifo';
  commands: string;
  answers: string | null;
  /** What it was given to, for messages. */
  option: string;
}

/** `fd:3`, `fd:3,4`, `fifo:/tmp/control`, `fifo:/tmp/control,/tmp/answers`. */
export function parseControlPlace(text: string, option = '--control'): ControlPlace {
  const match = /^(fd|fifo):([^,]+)(?:,([^,]+))?$/.exec(text);
  const [, kind, commands, answers] = match ?? [];
  const isRead =
    match !== null && (kind === 'fifo' || [commands, answers ?? '0'].every((fd) => /^\d{1,9}$/.test(fd!)));
  if (!isRead)
    throw new UsageError(
      `--control expects fd:N[,N] or fifo:FILE[,FILE], not '${text}'`,
      'Make a pipe first (mkfifo FILE), then write enable, disable, evlist or ping to it.',
    );
  return { kind: kind as ControlPlace['kind'], commands: commands!, answers: answers ?? null, option };
}

/** Longer than any command: what has no line end by then is thrown away. */
const LONGEST_LINE = 4096;

/** Commands as they come, until closed. It does not keep this process running. */
export class ControlChannel<Name extends string> implements Disposable {
  readonly #names: readonly Name[];
  readonly #socket: Socket;
  #answers: number | null = null;
  #rest = '';

  constructor(
    place: ControlPlace,
    names: readonly Name[],
    onCommand: (command: ControlCommand<Name>) => void,
    onUnknown: (line: string) => void,
  ) {
    this.#names = names;
    this.#answers = place.answers === null ? null : this.#open(place, place.answers);
    const commands = this.#open(place, place.commands);
    this.#socket = new Socket({ fd: commands, readable: true, writable: false });
    this.#socket.unref();
    this.#socket.on('error', () => {});
    this.#socket.on('data', (piece: Uint8Array) => {
      const lines = (this.#rest + new TextDecoder().decode(piece)).split('\n');
      this.#rest = lines.pop()!.slice(0, LONGEST_LINE);
      for (const line of lines) this.#take(line.trim(), onCommand, onUnknown);
    });
  }

  #take(
    line: string,
    onCommand: (command: ControlCommand<Name>) => void,
    onUnknown: (line: string) => void,
  ): void {
    const [word = '', ...rest] = line.split(' ');
    const name = this.#names.find((each) => each === word);
    // perf answers only what it knows, too: an ack would say that it was done.
    if (name === undefined || (name === 'ping' && rest.length > 0)) {
      if (line !== '') onUnknown(line);
      return;
    }
    onCommand({ name, argument: rest.join(' ').trim() });
    if (this.#answers === null) return;
    try {
      writeSync(this.#answers, 'ack\n');
    } catch {
      // Nobody reads it, or no longer.
    }
  }

  /** A pipe, opened for both: then there is no end of file whenever a writer goes. */
  #open(place: ControlPlace, where: string): number {
    // An open descriptor is opened again, so that it stays the caller's.
    const flags = constants.O_RDWR | constants.O_NONBLOCK;
    try {
      const fd = place.kind === 'fd' ? openSync(`/proc/self/fd/${where}`, flags) : openOwn(where, flags);
      if (fstatSync(fd).isFIFO()) return fd;
      closeSync(fd);
    } catch (error) {
      this.#closeAnswers();
      throw refused(place, where, reasonOf(error as NodeJS.ErrnoException));
    }
    this.#closeAnswers();
    throw refused(place, where, NO_PIPE);
  }

  #closeAnswers(): void {
    if (this.#answers !== null) closeSync(this.#answers);
    this.#answers = null;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
    this.#closeAnswers();
  }
}

/** Who can write to the pipe of another user tells this process what to do: see `isForeignInShared`. */
function openOwn(path: string, flags: number): number {
  using file = new NamedFile(path);
  const link = lstatSync(path);
  const isForeign =
    isForeignInShared(realpathSync(path), file.facts) ||
    (link.isSymbolicLink() && isForeignInShared(path, link));
  if (isForeign) throw new Error(`${FOREIGN}, in a directory to which everybody can write`);
  return file.openSync(flags);
}

const FOREIGN = 'it is of another user';
const IS_DIRECTORY = 'it is a directory';

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EISDIR') return IS_DIRECTORY;
  if (code === 'ENOENT') return 'it does not exist (ENOENT)';
  return code ?? message;
}

const NO_PIPE = 'it is not a pipe';

function refused({ kind, option }: ControlPlace, where: string, why: string): UsageError {
  const isThere = why === NO_PIPE || why === IS_DIRECTORY || why.startsWith(FOREIGN);
  return new UsageError(
    `${option}: ${kind === 'fd' ? `descriptor ${where}` : where} cannot be used: ${why}`,
    kind === 'fd'
      ? 'Give a pipe that the shell opened: mkfifo FILE, then 3<>FILE'
      : isThere
        ? 'Make a pipe of another name, and give that: mkfifo FILE'
        : `Make a pipe: mkfifo ${where}`,
  );
}
