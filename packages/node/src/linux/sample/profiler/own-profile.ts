import { closeSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { CounterpointError, checkArgument, type Diagnostic } from '@counterpoint/core/base';
import { EXPORTS, findExport } from '@counterpoint/core/export';
import type { LossEntry } from '@counterpoint/core/loss';
import type { Profile } from '@counterpoint/core/profile';
import { type TopRow, topFunctions } from '@counterpoint/core/query';
import { openFailure, openOutputFile, WriteError } from '../../../host/files/index.ts';
import { checkMade } from '../../../host/options/index.ts';
import type { Note } from '../../kernel/perf-events/index.ts';

const DEFAULT_ROWS = 20;
const compress = async (bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await promisify(gzip)(bytes));

/** What this process did in a span of time. */
export class OwnProfile<T = undefined> {
  /** What the function gave. */
  readonly result: T;
  /** Wall time of the span, in nanoseconds. */
  readonly timeNs: bigint;
  /** Samples. */
  readonly samples: number;
  /** For all functions that read profiles, such as `callTree`. */
  readonly profile: Profile;
  /** What was done otherwise than requested, and why. */
  readonly notes: readonly Note[];
  /** What could not be named or read, and what to do about it. */
  readonly diagnostics: readonly Diagnostic[];

  /** @internal */
  constructor(facts: Pick<OwnProfile<T>, 'result' | 'timeNs' | 'profile' | 'notes' | 'diagnostics'>) {
    checkMade(facts, 'profile', 'an OwnProfile', 'const own = await profile(fn);');
    this.result = facts.result;
    this.timeNs = facts.timeNs;
    this.profile = facts.profile;
    this.notes = facts.notes;
    this.diagnostics = facts.diagnostics;
    this.samples = facts.profile.events.reduce((sum, { samples }) => sum + samples, 0);
  }

  /** What is missing. */
  get loss(): readonly LossEntry[] {
    return this.profile.loss;
  }

  /**
   * The functions of JavaScript that took most time, longest first; what V8, libraries, Node itself and the
   * kernel did for a function counts for it. Default: 20 rows.
   */
  functions(limit: number = DEFAULT_ROWS): TopRow[] {
    const isLimit = typeof limit === 'number' && limit >= 0;
    checkArgument(isLimit, 'functions()', 'the limit', limit, 'a number of rows');
    const isFolded = (file: string) => file.startsWith('node:');
    return topFunctions(this.profile, { sort: ['symbol'], javascriptFirst: true, isFolded }).rows.slice(
      0,
      limit,
    );
  }

  /**
   * Write a file for another tool. The end of the name chooses the format: `.cpuprofile` (Chrome DevTools, VS
   * Code), `.svg` (flame graph), `.pb.gz` (pprof), `.speedscope.json`, `.profile.json` (Firefox), `.folded`.
   *
   * Throws CounterpointError with `ERR_EXPORT_FORMAT` if no format has this end, `WriteError` if the file may
   * not be written or there is no room, and Node's own errors, such as ENOENT.
   */
  async save(path: string): Promise<void> {
    const bytes = await this.encode(path);
    const fd = await openOutputFile(path).catch((error) => {
      throw openFailure(path, error);
    });
    try {
      writeFileSync(fd, bytes);
    } catch (error) {
      throw new WriteError(path, error as NodeJS.ErrnoException);
    } finally {
      closeSync(fd);
    }
  }

  /** The bytes of such a file, by the name of the format (`cpuprofile`) or a file's. Throws as `save`. */
  async encode(formatOrName: string): Promise<Uint8Array<ArrayBuffer>> {
    const format = findExport(formatOrName);
    if (format === undefined)
      throw new CounterpointError(
        'ERR_EXPORT_FORMAT',
        `no format fits ${formatOrName}`,
        `Formats: ${EXPORTS.map(({ name, extension }) => `${name} (.${extension})`).join(', ')}.`,
      );
    const pieces: Uint8Array[] = [];
    for await (const piece of format.write(this.profile, { compress }))
      pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece.slice());
    return new Uint8Array(Buffer.concat(pieces));
  }
}
