import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CounterpointError, optional } from '@counterpoint/core/base';
import { type JavascriptView, viewJavascript } from '@counterpoint/core/query';
import { temporaryDirectory } from '../../../host/leftovers/index.ts';
import { openRecording } from '../../../host/open/index.ts';
import {
  checkMade,
  checkOptions,
  FUNCTION,
  type OptionsOf,
  oneOf,
  required,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import { requireLinux } from '../../kernel/sys/index.ts';
import { OwnProfile } from './own-profile.ts';
import { RecorderProcess } from './recorder-process.ts';

/** Options of `profile()` and `startProfile()`. */
export interface OwnProfileOptions {
  /** Samples per second of each thread; default 1000. */
  frequency?: number;
  /** Event names as `-e` takes them. Default: cycles, or cpu-clock if there are none. */
  events?: string;
  /**
   * `charge`: what V8, libraries and the kernel did counts for the function of JavaScript that called
   * them (default). `categories`: it is a frame of its own below it, such as `(GC: scavenge)`. `all`:
   * every frame as it was recorded.
   */
  view?: JavascriptView | 'all';
}

const OPTIONS: OptionsOf<OwnProfileOptions> = {
  frequency: wholeNumberFrom(1),
  events: TEXT,
  view: oneOf('charge', 'categories', 'all'),
};
const DEFAULT_FREQUENCY_HZ = 1000;

/**
 * A function of this package calls that of the program: it is in every stack. In the
 * bundle it is in one of its files.
 */
const OWN_FILES = import.meta.url.endsWith('.ts')
  ? import.meta.url
  : import.meta.url.replace(/(?:chunks\/)?[^/]*$/, '');
const isOwnFile = (file: string) => file.startsWith(OWN_FILES);

/**
 * Call `fn`, and sample this process meanwhile, with all its threads. If `fn` returns a promise, the profile
 * ends when the promise is settled.
 *
 * A process of its own records: it takes half a second to start, before `fn` is called, and `fn` may block
 * the event loop. Needs Linux and the right to sample the own process (`kernel.perf_event_paranoid` up to 2,
 * which is usual), and Node 20, 22 or 24 for the names of functions, without any flag.
 *
 * Throws what `fn` throws, and CounterpointError where the process cannot be recorded.
 */
export async function profile<T>(
  fn: () => T | PromiseLike<T>,
  options: OwnProfileOptions = {},
): Promise<OwnProfile<T>> {
  checkOptions('profile()', { fn }, { fn: required(FUNCTION) });
  const running = await start('profile()', options);
  let result: T;
  try {
    result = await fn();
  } catch (error) {
    await running.discard();
    throw error;
  }
  return await running.stopWith(result);
}

/**
 * Sample this process, with all its threads, until `stop()` of the result is called. As `profile`, for a span
 * of time that is no call of a function. A program that ends without `stop()` leaves nothing behind.
 */
export async function startProfile(options: OwnProfileOptions = {}): Promise<RunningProfile> {
  return await start('startProfile()', options);
}

async function start(caller: string, options: OwnProfileOptions): Promise<RunningProfile> {
  requireLinux(caller);
  checkOptions(caller, options, OPTIONS);
  const { frequency = DEFAULT_FREQUENCY_HZ, events, view = 'charge' } = options;
  const folder = await temporaryDirectory('profile');
  const output = join(folder, 'perf.data');
  const recorder = new RecorderProcess({
    pid: process.pid,
    frequencyHz: frequency,
    output,
    ...optional({ events }),
  });
  try {
    await recorder.started();
    return new RunningProfile(recorder, output, view);
  } catch (error) {
    await recorder.close();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A profile that is being taken. */
export class RunningProfile implements AsyncDisposable {
  readonly #recorder: RecorderProcess;
  readonly #output: string;
  readonly #view: JavascriptView | 'all';
  readonly #fromNs = process.hrtime.bigint();
  #isOver = false;

  /** @internal */
  constructor(recorder: RecorderProcess, output: string, view: JavascriptView | 'all') {
    checkMade(recorder, 'close', 'a RunningProfile', 'const running = await startProfile();');
    this.#recorder = recorder;
    this.#output = output;
    this.#view = view;
  }

  /** The profile since the start. Throws CounterpointError with `ERR_CLOSED` when it is called again. */
  async stop(): Promise<OwnProfile> {
    return await this.stopWith(undefined);
  }

  /** @internal */
  async stopWith<T>(result: T): Promise<OwnProfile<T>> {
    const toNs = process.hrtime.bigint();
    if (this.#isOver)
      throw new CounterpointError(
        'ERR_CLOSED',
        'the profile has been stopped',
        'Start another one: startProfile().',
      );
    this.#isOver = true;
    try {
      const notes = await this.#recorder.stop();
      await using recording = await openRecording(this.#output);
      const filter = { fromNs: this.#fromNs, toNs };
      const { profile, diagnostics } = await recording.profile({ filter, aggregate: false });
      if (this.#view !== 'all') viewJavascript(profile, this.#view, isOwnFile);
      return new OwnProfile({ result, timeNs: toNs - this.#fromNs, profile, notes, diagnostics });
    } finally {
      await this.#recorder.close();
    }
  }

  /** End it, and forget what it saw; nothing where it is over. */
  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#recorder.close();
  }

  /** As `discard`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.discard();
  }
}
