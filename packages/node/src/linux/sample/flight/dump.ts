import { renameSync } from 'node:fs';
import { FEATURE_FLIGHT, FEATURE_RECORDED_FILES, PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { LossLedger } from '@counterpoint/core/loss';
import type { PerfDataFeatures } from '@counterpoint/core/perfdata';
import { type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import { type MergedHistory, mergeHistories } from '@counterpoint/core/ring';
import { WriteError } from '../../../host/files/index.ts';
import { convertRecording } from '../../../host/history-files/index.ts';
import type { Note, SampledEvents } from '../../kernel/perf-events/index.ts';
import {
  BuildIdCollector,
  closingRecords,
  FileOutput,
  layoutFinder,
  MapWatch,
  type PerfMapKeeper,
  writtenEvents,
} from '../record/index.ts';
import { removeFile } from './dump-files.ts';
import type { FlightLosses } from './flight-losses.ts';
import type { FormatHistory } from './format-history.ts';
import type { FrameHistory } from './frame-history.ts';
import type { Histories } from './histories.ts';
import { partOf } from './part-files.ts';
import type { SidebandLog } from './sideband-log.ts';

export interface DumpRequest {
  trigger: string;
  /** On the recording's clock: the history up to now, and from when on it is wanted. */
  atNs: number;
  fromNs: number;
  at: Date;
  /** When the recorder began. */
  startedNs: number;
}

/** What a history is written from. */
export interface DumpSource {
  sampled: SampledEvents;
  histories: Histories;
  /** Null without sampling formats. */
  formatHistory: FormatHistory | null;
  /** Null where no samples are read all the time. */
  frameHistory: FrameHistory | null;
  sideband: SidebandLog;
  /** What stands before everything: ids of events, the kernel. */
  start: Uint8Array<ArrayBuffer>;
  features: Partial<PerfDataFeatures>;
  perfMaps: PerfMapKeeper;
  notes: Note[];
  withBuildIds: boolean;
  losses: FlightLosses;
  /** Files are histories of fixed-size records. */
  isFixedSize: boolean;
}

export interface WrittenDump {
  records: number;
  samples: number;
  bytes: number;
  spanMs: number;
  pausedMs: number;
  loss: ReturnType<LossLedger['list']>;
}

const NS_PER_MS = 1e6;
/**
 * To read what JavaScript inlines for a file, of all processes: meanwhile the recorder does nothing else.
 * What is left is read until the next file.
 */
const CODE_BUDGET_MS = 500;

/** The merged records stay in here from dump to dump, as far as they have been. */
export class DumpWriter {
  readonly #source: DumpSource;
  readonly #readNames: () => void;
  #scratch = new Uint8Array(0);
  /** Samples in all files so far: each history goes on counting. */
  #samples = 0;

  /** `readNames` reads the ring of processes and maps. */
  constructor(source: DumpSource, readNames: () => void) {
    this.#readNames = readNames;
    this.#source = source;
  }

  /**
   * Read the rings and write all into `path`; where that fails, no file is left. It has its name when it is
   * whole: who is killed meanwhile leaves a file that ends with `.part`.
   */
  async write(path: string, request: DumpRequest): Promise<WrittenDump> {
    try {
      return await this.#write(path, request);
    } catch (error) {
      if (!(error instanceof WriteError)) throw error;
      throw new WriteError(path, error.cause, 'or keep fewer files with --max-files or --max-size');
    }
  }

  async #write(path: string, request: DumpRequest): Promise<WrittenDump> {
    const part = partOf(path);
    if (!this.#source.isFixedSize) {
      const written = await this.#writePerfData(part, request);
      renameSync(part, path);
      return written;
    }
    const before = partOf(`${path}.data`);
    const written = await this.#writePerfData(before, request);
    try {
      const { bytes, records } = await convertRecording(before, part, { firstSequence: this.#samples });
      renameSync(part, path);
      this.#samples += records;
      return { ...written, bytes };
    } finally {
      removeFile(before);
    }
  }

  async #writePerfData(path: string, request: DumpRequest): Promise<WrittenDump> {
    const { sampled } = this.#source;
    const collector = this.#source.withBuildIds ? new BuildIdCollector() : null;
    const maps = new MapWatch(collector, this.#source.perfMaps, null);
    const ledger = new LossLedger();
    const { losses, formatHistory, frameHistory } = this.#source;
    const drainedMs = (await formatHistory?.drain()) ?? 0;
    const pausedAt = performance.now();
    const fromNs = this.#fromNamesOn(request, ledger);
    const merged = this.#read({ ...request, fromNs }, maps, ledger);
    const readMs = performance.now() - pausedAt;
    const pausedMs = drainedMs + readMs;
    losses.addTo(ledger, fromNs);
    losses.countPause(request.atNs, readMs * NS_PER_MS);
    formatHistory?.addLossesTo(ledger, fromNs, request.startedNs);
    frameHistory?.addLossesTo(ledger, Math.max(fromNs, request.startedNs));
    const state = this.#source.sideband.stateRecords(new SampleLayout(sampled.events[0]!.attr), (record) =>
      maps.add(record),
    );
    const output = new FileOutput(path);
    try {
      output.begin(writtenEvents(frameHistory?.written ?? sampled.events));
      output.writeRecords(this.#source.start);
      output.writeRecords(state);
      output.writeRound([merged.bytes]);
      const buildIds = (await collector?.finish()) ?? [];
      // On a machine with many programs most of them have no samples.
      const { samples, pids } = sampledProcesses(merged.bytes, new SampleLayout(sampled.events[0]!.attr));
      const codeMaps = await this.#source.perfMaps.pack(this.#source.notes, {
        budgetMs: CODE_BUDGET_MS,
        isWanted: (pid) => pids.has(pid),
      });
      const loss = ledger.list();
      // Those have records of the kernel, in the history itself.
      const untold = loss.filter(({ kind }) => kind !== 'history-paused');
      const time = BigInt(Math.round(merged.lastNs ?? request.atNs));
      output.finish(this.#features(request, merged, buildIds, codeMaps), () =>
        closingRecords(
          sampled.events,
          { lost: [], formatLosses: [{ events: [], entries: untold }], unwritten: 0 },
          time,
        ),
      );
      const spanMs = merged.firstNs === null ? 0 : (merged.lastNs! - merged.firstNs) / NS_PER_MS;
      return { records: merged.records, samples, bytes: output.sizeBytes, spanMs, pausedMs, loss };
    } catch (error) {
      output.close();
      removeFile(path);
      throw error;
    } finally {
      output.close();
    }
  }

  /** Samples without the names of their time would have those of a later one. */
  #fromNamesOn({ fromNs, startedNs }: DumpRequest, ledger: LossLedger): number {
    const { droppedToNs } = this.#source.sideband;
    const wantedNs = Math.max(fromNs, startedNs);
    if (droppedToNs === null || droppedToNs <= wantedNs) return fromNs;
    const [from, to] = [BigInt(Math.round(wantedNs)), BigInt(Math.round(droppedToNs))];
    ledger.add({ kind: 'history-overwritten', fromNs: from, toNs: to, count: to - from });
    return droppedToNs;
  }

  /** All histories in order of time, with what processes did meanwhile. */
  #read({ fromNs, startedNs, atNs }: DumpRequest, maps: MapWatch, ledger: LossLedger): MergedHistory {
    const { sampled, histories, sideband, formatHistory, frameHistory } = this.#source;
    const layout = new SampleLayout(sampled.events[0]!.attr);
    const layoutAt = layoutFinder(sampled.events);
    const times = {
      sampleTimeFromStart: layout.timeFromStart,
      timeFromEnd: (view: DataView<ArrayBuffer>, end: number) => layoutAt(view, end).timeFromEnd,
    };
    const see = (record: PerfRecord) => maps.add(record);
    const since = sideband.recordsSince(see);
    const known = sideband.count;
    const apart = formatHistory === null ? [since] : [formatHistory.samplesSince(fromNs), since];
    const { rings } = histories;
    return histories.stopped(times, fromNs, (stopped) => {
      // Processes that began after the last look have samples by now, too.
      this.#readNames();
      const late = sideband.recordsSince(see, known);
      stopped.forEach(({ records: { count, times: held, reachesBack } }, index) => {
        const { cpu, ring, fromNs: ringFromNs, toNs } = rings[index]!;
        const wantedNs = Math.max(fromNs, startedNs, ringFromNs);
        const oldestNs = Math.min(count === 0 ? toNs : held[count - 1]!, toNs, atNs);
        if (!ring.isFull || reachesBack || oldestNs <= wantedNs) return;
        ledger.add({
          kind: 'history-overwritten',
          cpu,
          fromNs: BigInt(Math.round(wantedNs)),
          toNs: BigInt(Math.round(oldestNs)),
          count: BigInt(Math.round(oldestNs - wantedNs)),
        });
      });
      const framed = frameHistory === null ? [] : [frameHistory.samplesSince(fromNs)];
      const all = [...stopped, ...apart, ...framed, late];
      return mergeHistories(all, this.#room(all.reduce((sum, { records }) => sum + records.sizeBytes, 0)));
    });
  }

  #room(wanted: number): Uint8Array<ArrayBuffer> {
    if (this.#scratch.length < wanted) this.#scratch = new Uint8Array(wanted);
    return this.#scratch;
  }

  #features(
    { trigger, atNs, at, fromNs }: DumpRequest,
    { firstNs, lastNs }: MergedHistory,
    buildIds: NonNullable<PerfDataFeatures['buildIds']>,
    codeMaps: Uint8Array | null,
  ): Partial<PerfDataFeatures> {
    const { features } = this.#source;
    const facts = {
      version: 1,
      trigger,
      atNs: String(Math.round(atNs)),
      at: at.toISOString(),
      keepNs: String(Math.round(atNs - fromNs)),
    };
    const raw = new Map(features.raw ?? []);
    raw.set(FEATURE_FLIGHT, new TextEncoder().encode(JSON.stringify(facts)));
    if (codeMaps !== null) raw.set(FEATURE_RECORDED_FILES, codeMaps);
    return {
      ...features,
      raw,
      ...(buildIds.length > 0 ? { buildIds } : {}),
      ...(firstNs === null
        ? {}
        : { sampleTime: { first: BigInt(Math.round(firstNs)), last: BigInt(Math.round(lastNs!)) } }),
    };
  }
}

/** In a sample the numbers of process and thread stand before the time, for all events. */
const TID_BYTES = 8;

function sampledProcesses(
  bytes: Uint8Array<ArrayBuffer>,
  { timeFromStart }: SampleLayout,
): { samples: number; pids: Set<number> } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const pids = new Set<number>();
  let samples = 0;
  for (let at = 0; at < bytes.length; at += view.getUint16(at + 6, true)) {
    if (view.getUint32(at, true) !== PERF_RECORD_SAMPLE) continue;
    samples++;
    pids.add(view.getUint32(at + timeFromStart - TID_BYTES, true));
  }
  return { samples, pids };
}
