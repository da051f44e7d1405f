import { chmodSync, closeSync, ftruncateSync, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { CounterpointError } from '@counterpoint/core/base';
import { checkMade, checkOptions, type OptionsOf, TEXT } from '../../../host/options/index.ts';
import { Fd, type Mapping, type Sys } from '../../kernel/sys/index.ts';
import { INTERVAL_MS } from '../requests/check-request.ts';
import { controlRequest } from '../requests/control-data.ts';
import type { ControlData } from '../requests/control-data-types.ts';
import { parseControlData } from '../requests/parse-control-data.ts';
import type { ControlRequest } from '../requests/request-types.ts';
import type { Counts } from '../requests/types.ts';
import { countsToJson } from './counts-json.ts';
import { errorToJson, type Request, readLines, writeLine } from './protocol.ts';
import { listPublished, type Published, publishedAs, removePublished } from './runtime-directory.ts';
import { requireRoom, SUMS_PAGE_BYTES, SumsPageWriter, type SumsState } from './sums-page.ts';

/** What can be published: a session, or all CPUs of the global mode. */
export interface Publishable {
  /** Whether it is started. */
  readonly isRunning: boolean;
  /** Whether an overflow has suspended it. */
  readonly isSuspended: boolean;
  /** Whether it is closed. It can no longer be read then. */
  readonly isClosed: boolean;
  /** The sums by now. */
  read(): Counts;
  /** Starts counting. */
  start(): void;
  /** Stops counting. The sums stay. */
  stop(): void;
  /** Goes on after an overflow that suspends. */
  resume(): void;
  /** Loads the next event set, or the named one. */
  next(set?: string | number): void;
  /** Sets the sums of the named events to zero. Default: all. */
  reset(names?: readonly string[]): void;
  /**
   * Counts other events. Sums of the events that `preserve` names, or of `all`, go on; others begin at zero.
   */
  update(control: ControlRequest, preserve?: readonly string[] | 'all'): void;
  /** What is counted, as control data. */
  control(): ControlData;
}

/** Options of `publish()`. */
export interface PublishOptions {
  /** Others connect by this and the pid. Default: `counters`. */
  name?: string;
  /** How often the page is written, in milliseconds. Default: 100. */
  intervalMs?: number;
}

const OPTIONS: OptionsOf<PublishOptions> = {
  name: { ...TEXT, code: 'ERR_PUBLISHED_NAME' },
  intervalMs: INTERVAL_MS,
};

const DEFAULT_NAME = 'counters';
const DEFAULT_INTERVAL_MS = 100;

/**
 * Gives other processes of the same user the sums and the control of a session:
 *
 *   PID-NAME.sums   a file with the sums, to be mapped (`sums-page.ts`), written each interval and at each change
 *   PID-NAME.sock   a socket with one JSON line per request and answer
 *
 * Both are removed when it is closed; those of processes that were killed go when somebody lists them.
 */
export class Publication implements Disposable {
  /** The pid and the name by which others connect. */
  readonly published: Published;
  readonly #session: Publishable;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #mapping: Mapping;
  readonly #page: SumsPageWriter;
  readonly #timer: NodeJS.Timeout;
  #isOpen = true;

  private constructor(
    session: Publishable,
    published: Published,
    mapping: Mapping,
    server: Server,
    intervalMs: number,
  ) {
    checkMade(session, 'isRunning', 'a Publication', 'const publication = await session.publish();');
    this.published = published;
    this.#session = session;
    this.#mapping = mapping;
    this.#page = new SumsPageWriter(mapping.buffer);
    this.#server = server;
    this.#server.on('connection', (socket) => this.#serve(socket));
    this.#timer = setInterval(() => this.#refreshOrClose(), intervalMs);
    // Publishing alone keeps no program alive.
    this.#timer.unref();
    this.#server.unref();
    this.refresh();
  }

  /** @internal */
  static async open(sys: Sys, session: Publishable, options: PublishOptions): Promise<Publication> {
    checkOptions('publish()', options, OPTIONS);
    const { name = DEFAULT_NAME, intervalMs = DEFAULT_INTERVAL_MS } = options;
    const published = publishedAs(process.pid, name);
    if (listPublished().some((one) => one.pid === process.pid && one.name === name)) {
      throw new CounterpointError(
        'ERR_PUBLISHED_NAME',
        `this process has already published a session as ${name}`,
        'Choose another name.',
      );
    }
    removePublished(published);
    requireRoom(session.read().sets);
    const mapping = mapSums(sys, published.sumsPath);
    try {
      const server = await listen(published.socketPath);
      return new Publication(session, published, mapping, server, intervalMs);
    } catch (error) {
      mapping.close();
      removePublished(published);
      throw error;
    }
  }

  /** Write the page now. Also finds out that the session was closed. */
  refresh(): void {
    if (!this.#isOpen) return;
    if (this.#session.isClosed) {
      this.close();
      return;
    }
    this.#page.write(this.#session.read(), this.#state());
  }

  /** Nobody could catch what a timer throws. */
  #refreshOrClose(): void {
    try {
      this.refresh();
    } catch (error) {
      this.close();
      const { name } = this.published;
      process.emitWarning(
        `the sums of ${name} are no longer published: ${error instanceof Error ? error.message : String(error)}`,
        { code: 'WARN_PUBLICATION_CLOSED' },
      );
    }
  }

  #state(): SumsState {
    if (this.#session.isSuspended) return 'suspended';
    return this.#session.isRunning ? 'running' : 'stopped';
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.unref();
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    readLines(socket, (value) => {
      const request = value as Request | null;
      const id = Number(request?.id ?? 0);
      try {
        writeLine(socket, { id, ok: this.#answer(request) });
      } catch (error) {
        writeLine(socket, { id, error: errorToJson(error) });
      }
    });
  }

  #answer(request: Request | null): unknown {
    const session = this.#session;
    switch (request?.do) {
      case 'read':
        return countsToJson(session.read());
      case 'control':
        return session.control();
      case 'start':
        session.start();
        this.refresh();
        return null;
      case 'stop':
        session.stop();
        this.refresh();
        return null;
      case 'resume':
        session.resume();
        this.refresh();
        return null;
      case 'next':
        session.next(setArgument(request['set']));
        this.refresh();
        return null;
      case 'reset':
        session.reset(namesArgument(request['names']));
        this.refresh();
        return null;
      case 'update': {
        const data = parseControlData(JSON.stringify(request['control'] ?? null));
        session.update(
          controlRequest(data),
          request['preserve'] === 'all' ? 'all' : namesArgument(request['preserve']),
        );
        this.refresh();
        return null;
      }
      default:
        throw new CounterpointError(
          'ERR_REQUEST',
          `a published session cannot do ${JSON.stringify(request?.do)}`,
          'Use the same version of Counterpoint on both sides, and the methods of RemoteSession.',
        );
    }
  }

  /** Ends the publication and removes its files. The session goes on. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearInterval(this.#timer);
    this.#writeLast();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    this.#mapping.close();
    removePublished(this.published);
  }

  /** Who has the page mapped still sees it: with the sums of the end, or the last ones that could be read. */
  #writeLast(): void {
    try {
      if (!this.#session.isClosed) this.#page.write(this.#session.read(), 'closed');
    } catch {
      // Why is told where the sums are asked for; here nobody does.
    } finally {
      this.#page.writeState('closed');
    }
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function mapSums(sys: Sys, path: string): Mapping {
  const fd = new Fd(openSync(path, 'wx+', 0o600), closeSync);
  try {
    ftruncateSync(fd.number, SUMS_PAGE_BYTES);
    return sys.mapFile(fd, SUMS_PAGE_BYTES, 'write');
  } finally {
    fd.close();
  }
}

function listen(path: string): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      // The directory keeps others out; this says it once more.
      chmodSync(path, 0o600);
      resolve(server);
    });
  });
}

function setArgument(set: unknown): string | number | undefined {
  if (set === undefined || typeof set === 'string' || typeof set === 'number') return set;
  throw new CounterpointError('ERR_REQUEST', 'set should be a name or an index', 'Give a text or a number.');
}

function namesArgument(names: unknown): string[] | undefined {
  if (names === undefined || names === null) return undefined;
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw new CounterpointError(
    'ERR_REQUEST',
    'names should be a list of event names',
    'Give a list of texts.',
  );
}
