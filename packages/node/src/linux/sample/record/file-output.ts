import {
  closeSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
  writevSync,
} from 'node:fs';
import {
  type FilePlan,
  finishFile,
  headerWithoutFeatures,
  type PerfDataFeatures,
  planFile,
  unfinishedHeader,
  type WrittenEvent,
} from '@counterpoint/core/perfdata';
import { leadsToDescriptor, openOutputFileSync, WriteError } from '../../../host/files/index.ts';
import { SysError } from '../../kernel/sys/index.ts';
import type { DrainedFile } from '../reader/index.ts';
import { FinishedRounds } from './finished-rounds.ts';
import {
  type ClosingRecords,
  FINISHED_ROUND,
  OR_LIMIT,
  REMEMBERED_ROUNDS,
  type RecordingOutput,
  TAKEN_BACK_ROUND,
} from './output.ts';
import { partsAfter } from './parts.ts';

/** Room that file systems take besides the features themselves. */
const FEATURE_SLACK_BYTES = 64 * 1024;
const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * A perf.data file. Rounds go from the mapped rings to the page cache in one writev, without a copy
 * in between. Until `finish` a mark in the header says that the file is not finished, and its size
 * grows with each round: a recording that was killed is recognised, and still reads, here and by perf.
 *
 *   | header | ids, attrs | records, rounds ... | features |
 *            written by begin                   written by finish, with the header once more
 */
export class FileOutput implements RecordingOutput {
  readonly keepsFeatures = true;
  readonly path: string;
  sizeBytes = 0;
  hasLateRecords = false;
  #fd = -1;
  #readFd = -1;
  #plan: FilePlan | null = null;
  /** Offsets at which the file can be cut without dividing a record, oldest first. */
  readonly #cuts: number[] = [];
  readonly #finishedRounds = new FinishedRounds();

  constructor(path: string) {
    this.path = path;
  }

  get nextOffset(): number {
    return this.sizeBytes;
  }

  /** Open the file; what was there is kept as `.old`. */
  begin(events: readonly WrittenEvent[]): void {
    this.#guard(() => {
      keepOld(this.path);
      this.#fd = openOutputFileSync(this.path, { mode: 0o600 });
      this.#plan = planFile({ attrs: events });
      this.#append([this.#plan.header]);
    });
    this.#cuts.push(this.sizeBytes);
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): void {
    if (oldestNs !== undefined) this.#takeBack(this.#finishedRounds.settleAfter(oldestNs));
    this.#appendWhole([bytes]);
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#appendWhole([...spans, FINISHED_ROUND]);
    if (!this.hasLateRecords) return;
    // No record before the mark is younger than now; hrtime is CLOCK_MONOTONIC.
    const nowNs = Number(process.hrtime.bigint());
    this.#takeBack(this.#finishedRounds.add(this.sizeBytes - FINISHED_ROUND.length, nowNs));
  }

  #takeBack(offsets: readonly number[]): void {
    this.#guard(() => {
      for (const offset of offsets) this.#writeAt(TAKEN_BACK_ROUND, offset);
    });
  }

  /** Append records, or nothing: after a failure the file ends where it ended before. */
  #appendWhole(parts: readonly Uint8Array[]): void {
    const before = this.sizeBytes;
    this.#guard(() => {
      try {
        this.#append(parts);
      } catch (error) {
        this.#cutAt(before);
        throw error;
      }
    });
    this.#rememberCut();
  }

  drained(): DrainedFile | null {
    if (!fstatSync(this.#fd).isFile()) return null;
    try {
      this.#readFd = openSync(`/proc/self/fd/${this.#fd}`, 'r');
    } catch {
      // Without /proc, or without the right to read it: what the thread writes could not be looked at.
      return null;
    }
    return {
      fd: this.#fd,
      readFd: this.#readFd,
      sizeBytes: this.sizeBytes,
      mark: FINISHED_ROUND,
      grewTo: (sizeBytes) => {
        this.sizeBytes = sizeBytes;
        this.#rememberCut();
      },
      failed: (errno, sizeBytes) => {
        // A part of a round may stand behind its end.
        ftruncateSync(this.#fd, sizeBytes);
        return new WriteError(this.path, new SysError('pwritev', errno, { path: this.path }), OR_LIMIT);
      },
    };
  }

  #rememberCut(): void {
    this.#guard(() => this.#tellSize(unfinishedHeader));
    this.#cuts.push(this.sizeBytes);
    if (this.#cuts.length > REMEMBERED_ROUNDS) this.#cuts.shift();
  }

  #tellSize(headerOf: (plan: FilePlan, dataSize: number) => Uint8Array): void {
    if (this.#plan !== null) this.#writeAt(headerOf(this.#plan, this.sizeBytes - this.#plan.dataOffset), 0);
  }

  #append(parts: readonly Uint8Array[]): void {
    let rest: readonly Uint8Array[] = parts;
    while (rest.length > 0) {
      // At a given place: after a cut, the descriptor's own position would leave a hole.
      const written = writevSync(this.#fd, rest, this.sizeBytes);
      this.sizeBytes += written;
      rest = partsAfter(rest, written);
    }
  }

  #cutAt(size: number): void {
    ftruncateSync(this.#fd, size);
    this.sizeBytes = size;
    this.#finishedRounds.cutAt(size);
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      throw new WriteError(this.path, error, OR_LIMIT);
    }
  }

  /**
   * Complete the file. On a full disk the latest rounds make room for the features, without which names and
   * build ids would be missing, and for the word on what is lost; where even that is not enough for features
   * the file has none, and is still readable.
   */
  finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): number {
    if (this.#plan === null) return 0;
    const end = this.sizeBytes;
    const missing = this.#tryToComplete(this.#plan, features, closing);
    if (missing === 0) return end;
    const cut = this.#cuts.findLast((at) => at <= end - missing - FEATURE_SLACK_BYTES);
    if (cut !== undefined) {
      this.#cutAt(cut);
      if (this.#tryToComplete(this.#plan, features, closing) === 0) return cut;
    }
    return this.#completeWithoutFeatures(closing);
  }

  /**
   * All that comes after the rounds, and the header. Where there is no room: the size of it, and no change.
   */
  #tryToComplete(plan: FilePlan, features: Partial<PerfDataFeatures>, closing: ClosingRecords): number {
    const roundsEnd = this.sizeBytes;
    const records = closing(roundsEnd);
    // Rounds that were given up are in no index.
    const auxIndex = features.auxIndex?.filter(({ offset }) => offset < BigInt(roundsEnd));
    const { header, tail } = finishFile(plan, roundsEnd + records.length - plan.dataOffset, {
      ...features,
      ...(auxIndex === undefined ? {} : { auxIndex }),
    });
    if (!this.#tryAppend([records, tail])) return records.length + tail.length;
    this.#guard(() => this.#writeAt(header, 0));
    return 0;
  }

  /** Only what is lost is still said: where that finds no room, the last round makes it. */
  #completeWithoutFeatures(closing: ClosingRecords): number {
    let roundsEnd = this.sizeBytes;
    while (!this.#tryAppend([closing(roundsEnd)])) {
      const cut = this.#cuts.findLast((at) => at < roundsEnd);
      if (cut === undefined) break;
      this.#cutAt(cut);
      roundsEnd = cut;
    }
    this.#guard(() => this.#tellSize(headerWithoutFeatures));
    return roundsEnd;
  }

  /** False where there is no room; then nothing has changed. */
  #tryAppend(parts: readonly Uint8Array[]): boolean {
    const before = this.sizeBytes;
    try {
      this.#append(parts);
      return true;
    } catch (error) {
      if (!NO_ROOM.has((error as NodeJS.ErrnoException).code ?? ''))
        throw new WriteError(this.path, error, OR_LIMIT);
      this.#cutAt(before);
      return false;
    }
  }

  #writeAt(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#fd, bytes, at, bytes.length - at, offset + at);
  }

  close(): void {
    for (const fd of [this.#fd, this.#readFd]) if (fd >= 0) closeSync(fd);
    this.#fd = -1;
    this.#readFd = -1;
  }
}

/**
 * An earlier recording is not lost: it becomes `PATH.old`, as with perf. So does a link to one. Devices,
 * pipes and open descriptors (`/dev/stdout`) are left alone.
 */
function keepOld(path: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined || leadsToDescriptor(path)) return;
  const content = there.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : there;
  if (content?.isFile() === true && content.size > 0) renameSync(path, `${path}.old`);
}
