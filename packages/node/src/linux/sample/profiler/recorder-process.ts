import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CounterpointError } from '@counterpoint/core/base';
import type { Note } from '../../kernel/perf-events/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import type { Asked, Order, Told } from './messages.ts';

/** Of what it wrote to standard error, where it ended without an answer. */
const MOST_TEXT = 2000;

/** The process that records this one. */
export class RecorderProcess {
  readonly #child: ChildProcess;
  readonly #stderr: string[] = [];
  readonly #waiting: { resolve(told: Told): void; reject(error: unknown): void }[] = [];
  readonly #told: Told[] = [];
  #failure: CounterpointError | null = null;

  /** It has begun to record when `started()` is fulfilled. */
  constructor(order: Order) {
    this.#child = startRecorder();
    const child = this.#child;
    child.stderr?.on('data', (text) => {
      if (this.#stderr.join('').length < MOST_TEXT) this.#stderr.push(String(text));
    });
    child.on('message', (told) => this.#take(told as Told));
    child.on('error', (error) => this.#fail(`it could not be started (${error.message})`));
    child.on('exit', (status, signal) => {
      const said = this.#stderr.join('').trim();
      this.#fail(`it ended (${signal ?? `status ${status}`})${said === '' ? '' : `: ${said}`}`);
    });
    if (child.pid !== undefined) realSys.allowTracer(child.pid);
    this.#ask({ type: 'record', order });
  }

  async started(): Promise<void> {
    await this.#next();
    // A program that forgets to stop it can end.
    this.#hold(false);
  }

  /** What it has recorded is complete then. */
  async stop(): Promise<Note[]> {
    this.#hold(true);
    this.#ask({ type: 'stop' });
    const told = await this.#next();
    return told.type === 'done' ? told.notes : [];
  }

  /** What it has made is gone then. */
  async close(): Promise<void> {
    this.#hold(true);
    const { exitCode, signalCode } = this.#child;
    const ended = exitCode !== null || signalCode !== null ? null : once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }

  #hold(isHeld: boolean): void {
    const handles = [this.#child, this.#child.channel, this.#child.stderr as unknown as Referenced | null];
    for (const handle of handles) {
      if (isHeld) handle?.ref();
      else handle?.unref();
    }
  }

  #ask(asked: Asked): void {
    // Where it is gone, its end says so.
    if (this.#child.connected) this.#child.send(asked, () => {});
  }

  #next(): Promise<Told> {
    const told = this.#told.shift();
    if (told !== undefined) return Promise.resolve(told).then(checked);
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise<Told>((resolve, reject) => this.#waiting.push({ resolve, reject })).then(checked);
  }

  #take(told: Told): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#told.push(told);
    else waiting.resolve(told);
  }

  #fail(why: string): void {
    this.#failure ??= new CounterpointError(
      'ERR_RECORDER_PROCESS',
      `the process that records this one does not answer: ${why}`,
      'Call profile() again; record() with a command needs no such process.',
    );
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}

interface Referenced {
  ref(): void;
  unref(): void;
}

function checked(told: Told): Told {
  if (told.type !== 'failed') return told;
  const { message, code, remedy } = told;
  if (code === null) throw new Error(message);
  throw new CounterpointError(code, message, remedy);
}

/** Options of Node that are meant for the program are not meant for its recorder. */
function startRecorder(): ChildProcess {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...env } = process.env;
  const { path, execArgv } = recorderProgram();
  return fork(path, [], { execArgv, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'json' });
}

function recorderProgram(): { path: string; execArgv: string[] } {
  const here = import.meta.url;
  if (here.endsWith('.ts'))
    return {
      path: fileURLToPath(new URL('./recorder-main.ts', here)),
      execArgv: ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source'],
    };
  // In the bundle this code is in a file at the top, or in one of the chunks.
  const place = /\/chunks\/[^/]+$/.test(here) ? '../profile-recorder.js' : './profile-recorder.js';
  return { path: fileURLToPath(new URL(place, here)), execArgv: [] };
}
