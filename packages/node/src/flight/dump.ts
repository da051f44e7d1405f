import { FEATURE_FLIGHT, FEATURE_RECORDED_FILES } from '@counterpoint/core/abi';
import { LossLedger } from '@counterpoint/core/loss';
import type { PerfDataFeatures } from '@counterpoint/core/perfdata';
import { type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import { type MergedHistory, mergeHistories } from '@counterpoint/core/ring';
import { convertRecording } from '../history/index.ts';
import type { Note, SampledEvents } from '../perf-events/index.ts';
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
import type { Histories } from './histories.ts';
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
  bytes: number;
  spanMs: number;
  pausedMs: number;
  loss: ReturnType<LossLedger['list']>;
}

const NS_PER_MS = 1e6;

/** The merged records stay in here from dump to dump, as far as they have been. */
export class DumpWriter {
  readonly #source: DumpSource;
  #scratch = new Uint8Array(0);
  /** Samples in all files so far: each history goes on counting. */
  #samples = 0;

  constructor(source: DumpSource) {
    this.#source = source;
  }

  /** Read the rings and write all into `path`; where that fails, no file is left. */
  async write(path: string, request: DumpRequest): Promise<WrittenDump> {
    if (!this.#source.isFixedSize) return await this.#writePerfData(path, request);
    const before = `${path}.part`;
    const written = await this.#writePerfData(before, request);
    try {
      const { bytes, records } = await convertRecording(before, path, { firstSequence: this.#samples });
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
    const { losses, formatHistory } = this.#source;
    const drainedMs = (await formatHistory?.drain()) ?? 0;
    const pausedAt = performance.now();
    const merged = this.#read(request, maps, ledger);
    const readMs = performance.now() - pausedAt;
    const pausedMs = drainedMs + readMs;
    losses.addTo(ledger, request);
    losses.countPause(request.atNs, readMs * NS_PER_MS);
    formatHistory?.addLossesTo(ledger, request.fromNs, request.startedNs);
    const state = this.#source.sideband.stateRecords(new SampleLayout(sampled.events[0]!.attr), (record) =>
      maps.add(record),
    );
    const output = new FileOutput(path);
    try {
      output.begin(writtenEvents(sampled.events));
      output.writeRecords(this.#source.start);
      output.writeRecords(state);
      output.writeRound([merged.bytes]);
      const buildIds = (await collector?.finish()) ?? [];
      const codeMaps = await this.#source.perfMaps.pack(this.#source.notes);
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
      return { records: merged.records, bytes: output.sizeBytes, spanMs, pausedMs, loss };
    } catch (error) {
      output.close();
      removeFile(path);
      throw error;
    } finally {
      output.close();
    }
  }

  /** All histories in order of time, with what processes did meanwhile. */
  #read({ fromNs, startedNs, atNs }: DumpRequest, maps: MapWatch, ledger: LossLedger): MergedHistory {
    const { sampled, histories, sideband, formatHistory } = this.#source;
    const layout = new SampleLayout(sampled.events[0]!.attr);
    const layoutAt = layoutFinder(sampled.events);
    const times = {
      sampleTimeFromStart: layout.timeFromStart,
      timeFromEnd: (view: DataView<ArrayBuffer>, end: number) => layoutAt(view, end).timeFromEnd,
    };
    const since = sideband.recordsSince((record: PerfRecord) => maps.add(record));
    const apart = formatHistory === null ? [since] : [formatHistory.samplesSince(fromNs), since];
    const { rings } = histories;
    return histories.stopped(times, fromNs, (stopped) => {
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
      const all = [...stopped, ...apart];
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
