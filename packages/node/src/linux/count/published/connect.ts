import { closeSync, fstatSync, openSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import {
  type Check,
  checkMade,
  checkOptions,
  either,
  OBJECT,
  type OptionsOf,
  required,
  SIGNAL,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import { Fd, type Mapping, realSys, type Sys } from '../../kernel/sys/index.ts';
import { NAMES, requireControl } from '../requests/check-request.ts';
import { controlData } from '../requests/control-data.ts';
import type { ControlData } from '../requests/control-data-types.ts';
import type { ControlRequest } from '../requests/request-types.ts';
import type { Counts } from '../requests/types.ts';
import { type CountsJson, countsFromJson } from './counts-json.ts';
import { type Response, readLines, writeLine } from './protocol.ts';
import { listPublished, type Published } from './runtime-directory.ts';
import { type PageSums, SUMS_PAGE_BYTES, SumsPageReader } from './sums-page.ts';

/** By its name or number. */
const SET: Check = either(TEXT, wholeNumberFrom(0));
const DEFAULT_NAME = 'counters';
const DEFAULT_TIMEOUT_MS = 10_000;
/** What a timer takes. */
const MOST_TIMEOUT_MS = 2 ** 31 - 1;

/** How long an answer of another process is waited for. */
export interface AskOptions {
  /** 10 s where it is absent; Infinity waits as long as the process lives. */
  timeoutMs?: number;
  /** Ends the waiting, with its reason. */
  signal?: AbortSignal;
}

/** For all questions of a connection, where they have none of their own. */
export interface ConnectOptions extends AskOptions {
  /** @internal */
  sys?: Sys;
}

/** What a timer takes, or for ever. */
const TIMEOUT: Check = {
  expects: `a number of milliseconds from 1 to ${MOST_TIMEOUT_MS}, or Infinity`,
  accepts: (value) =>
    value === Number.POSITIVE_INFINITY ||
    (typeof value === 'number' && value >= 1 && value <= MOST_TIMEOUT_MS),
  code: 'ERR_INTERVAL',
};

const WHOM = { pid: required({ ...wholeNumberFrom(1), expects: 'the number of a process' }), name: TEXT };
const ASK_OPTIONS: OptionsOf<AskOptions> = { timeoutMs: TIMEOUT, signal: SIGNAL };
const CONNECT_OPTIONS: OptionsOf<ConnectOptions> = { ...ASK_OPTIONS, sys: OBJECT };

/** Connect to a session that another process of this user published under `name`. */
export async function connect(
  pid: number,
  name = DEFAULT_NAME,
  options: ConnectOptions = {},
): Promise<RemoteSession> {
  checkOptions('connect()', { pid, name }, WHOM);
  checkOptions('connect()', options, CONNECT_OPTIONS);
  const { sys = realSys, ...ask } = options;
  const all = listPublished();
  const published = all.find((one) => one.pid === pid && one.name === name);
  if (published === undefined) throw notPublished(pid, name, all);
  const socket = await openSocket(published);
  try {
    return new RemoteSession(published, socket, mapSums(sys, published), ask);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function notPublished(pid: number, name: string, all: readonly Published[]): CounterpointError {
  const names = all.filter((one) => one.pid === pid).map((one) => one.name);
  return new CounterpointError(
    'ERR_NOT_PUBLISHED',
    names.length === 0
      ? `process ${pid} has published no session`
      : `process ${pid} has published no session ${name}${didYouMean(nearestNames(name, names))}`,
    all.length === 0
      ? 'No process of this user has published one. Call session.publish() to publish a session.'
      : `The published sessions are: ${all.map((one) => `${one.pid} ${one.name}`).join(', ')}.`,
  );
}

function openSocket({ socketPath, pid, name }: Published): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(socketPath);
    socket.once('connect', () => resolve(socket));
    socket.once('error', (cause) => {
      const error = new CounterpointError(
        'ERR_NOT_PUBLISHED',
        `session ${name} of process ${pid} cannot be reached: ${cause.message}`,
        'Check that the process runs and still publishes: findSessions() lists what can be reached.',
      );
      reject(error);
    });
  });
}

function mapSums(sys: Sys, { sumsPath }: Published): Mapping {
  const fd = new Fd(openSync(sumsPath, 'r'), closeSync);
  try {
    // A shorter file would end this process when its missing part is read.
    if (fstatSync(fd.number).size < SUMS_PAGE_BYTES)
      throw new CounterpointError(
        'ERR_SUMS_PAGE',
        `${sumsPath} is too short for a page of sums`,
        'Publish the session again: something else has changed that file.',
      );
    return sys.mapFile(fd, SUMS_PAGE_BYTES, 'read');
  } finally {
    fd.close();
  }
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The signal would be sent with the rights of the other process, to a thread that this one chose. */
function requireNoSignals({ overflows = [] }: ControlRequest): void {
  const sends = overflows.find(({ signal }) => signal !== undefined);
  if (sends === undefined) return;
  throw new CounterpointError(
    'ERR_REMOTE_SIGNAL',
    `the overflow of ${sends.event} cannot send a signal: a session of another process cannot be told to send one`,
    'Leave signal out, or open the counters in this process.',
  );
}

/** The other end of `session.publish()`. */
export class RemoteSession implements Disposable {
  /** Which session this is, and where its socket and its page of sums lie. */
  readonly published: Published;
  readonly #socket: Socket;
  readonly #mapping: Mapping;
  readonly #page: SumsPageReader;
  readonly #options: AskOptions;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #isOpen = true;
  /** The other process has closed it, or has ended. */
  #hasEnded = false;

  /** @internal */
  constructor(published: Published, socket: Socket, mapping: Mapping, options: AskOptions = {}) {
    checkMade(published, 'pid', 'a RemoteSession', 'const session = await connect(pid);');
    this.published = published;
    this.#options = options;
    this.#socket = socket;
    this.#mapping = mapping;
    try {
      this.#page = new SumsPageReader(mapping.buffer);
    } catch (error) {
      mapping.close();
      throw error;
    }
    socket.on('error', () => {});
    socket.on('close', () => this.#lost());
    readLines(socket, (value) => this.#onResponse(value as Response | null));
    // Only an open question keeps a program alive.
    socket.unref();
  }

  /**
   * The sums as last written, from mapped memory: no system call, and nothing that
   * the other process does for it.
   */
  sums(): PageSums {
    this.#requireOpen();
    const sums = this.#page.read();
    // A process that was killed could not write that.
    return this.#hasEnded ? { ...sums, state: 'closed' } : sums;
  }

  /** The sums now. */
  async read(options?: AskOptions): Promise<Counts> {
    return countsFromJson((await this.#ask('read', options)) as CountsJson);
  }

  /** Asks for what the session counts, as control data that `readControl()` and `update()` understand. */
  async control(options?: AskOptions): Promise<ControlData> {
    return (await this.#ask('control', options)) as ControlData;
  }

  /** Starts the session. It has no effect on a session that runs. */
  async start(options?: AskOptions): Promise<void> {
    await this.#ask('start', options);
  }

  /** Stops the session. The sums stay. */
  async stop(options?: AskOptions): Promise<void> {
    await this.#ask('stop', options);
  }

  /** Lets a session that an overflow has suspended count again. */
  async resume(options?: AskOptions): Promise<void> {
    await this.#ask('resume', options);
  }

  /** Loads the next of several event sets, or the named one (by its name, or by its index from 0). */
  async next(set?: string | number, options?: AskOptions): Promise<void> {
    checkOptions('next()', { set }, { set: SET });
    await this.#ask('next', options, { set });
  }

  /** Sets the sums of the named events to zero. Default: all. */
  async reset(names?: readonly string[] | 'all', options?: AskOptions): Promise<void> {
    checkOptions('reset()', { names }, { names: NAMES });
    await this.#ask('reset', options, names === 'all' ? {} : { names });
  }

  /**
   * Counts other events of the same target, as `CountingSession.update()` does. The sums of the events that
   * `preserve` names, or of `all`, go on; others begin at zero. Default: none go on.
   */
  async update(
    control: ControlRequest,
    preserve: readonly string[] | 'all' = [],
    options?: AskOptions,
  ): Promise<void> {
    requireControl('update()', control);
    checkOptions('update()', { preserve }, { preserve: NAMES });
    requireNoSignals(control);
    await this.#ask('update', options, { control: controlData(control), preserve });
  }

  async #ask(
    what: string,
    options: AskOptions = {},
    argument: Record<string, unknown> = {},
  ): Promise<unknown> {
    this.#requireOpen();
    if (this.#hasEnded) throw this.#ended();
    checkOptions(`${what}()`, options, ASK_OPTIONS);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = { ...this.#options, ...options };
    signal?.throwIfAborted();
    const id = this.#nextId++;
    const giveUp = (error: unknown) => this.#take(id)?.reject(error);
    const onAbort = () => giveUp(signal!.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : setTimeout(() => giveUp(this.#late(what, timeoutMs)), timeoutMs);
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        this.#socket.ref();
        writeLine(this.#socket, { id, do: what, ...argument });
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Take out who waits for an answer; nobody where it was given up. */
  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#socket.unref();
    return waiting;
  }

  #late(what: string, timeoutMs: number): CounterpointError {
    const { pid, name } = this.published;
    return new CounterpointError(
      'ERR_REMOTE_TIMEOUT',
      `process ${pid} has not answered for session ${name} within ${timeoutMs} ms (${what}): it is busy, or was stopped`,
      'It may still do it. sums() needs no answer; timeoutMs is the time to wait for one.',
    );
  }

  #onResponse(response: Response | null): void {
    if (response === null) return;
    const waiting = this.#take(response.id);
    if (waiting === undefined) return;
    if ('error' in response) {
      const { code, message, remedy } = response.error;
      waiting.reject(new CounterpointError(code, message, remedy));
    } else waiting.resolve(response.ok);
  }

  #lost(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(this.#ended());
    this.#waiting.clear();
  }

  #ended(): CounterpointError {
    const { pid, name } = this.published;
    return new CounterpointError(
      'ERR_CLOSED',
      `session ${name} of process ${pid} was closed`,
      'Connect again when the process publishes a session.',
    );
  }

  /** Closes the connection. The session goes on. Closing twice does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#lost();
    this.#socket.destroy();
    this.#mapping.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #requireOpen(): void {
    if (!this.#isOpen)
      throw new CounterpointError('ERR_CLOSED', 'this connection is closed', 'Connect again: connect(pid).');
  }
}
