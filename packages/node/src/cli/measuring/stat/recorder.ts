import { type CountsBy, type MeasuredCount, roundOfCounts, startOfCounts } from '@counterpoint/core/counts';
import { encodeRecords, type PerfDataFeatures } from '@counterpoint/core/perfdata';
import type { PerfRecord } from '@counterpoint/core/records';
import type { CountingSession } from '../../../linux/count/counting/index.ts';
import { type Measurement, RecordedPlaces } from '../../../linux/count/stat/index.ts';
import { machineFeatures, outputFor, type RecordingOutput } from '../../../linux/sample/record/index.ts';
import type { Output } from '../../common/output.ts';
import { packageVersion } from '../../common/version.ts';
import { tellWaitForReader } from '../shared/stop-signals.ts';
import type { StatSettings } from './settings.ts';

type Settings = Pick<StatSettings, 'by' | 'intervalMs' | 'unscaled'>;

/** Writes what is counted into a recording, in the order in which it is read. */
export class CountsRecorder {
  readonly #settings: Settings;
  readonly #output: RecordingOutput;
  #places: RecordedPlaces | null = null;
  readonly #ofRunsBefore = new Map<bigint, MeasuredCount>();
  /** Writing to a pipe takes its time; counting goes on. */
  #written: Promise<void> = Promise.resolve();
  #error: unknown = null;

  constructor(path: string, settings: Settings, signal: AbortSignal, err: Output) {
    this.#settings = settings;
    this.#output = outputFor(path, {
      signal,
      onWaitForReader: (name) => tellWaitForReader('stat', name, err),
    });
  }

  get sizeBytes(): number {
    return this.#output.sizeBytes;
  }

  /** Counts of places that came to be later. */
  get leftOut(): number {
    return this.#places?.leftOut ?? 0;
  }

  /** Before the first run: make the file, and write all but the counts. Later runs have the same places. */
  async begin(session: CountingSession): Promise<void> {
    if (this.#places !== null) return;
    const { by, intervalMs = 0, unscaled } = this.#settings;
    const places = new RecordedPlaces(session, by === 'thread');
    this.#places = places;
    await this.#output.begin(places.events, () => features());
    const { measured, threads, cpus } = places;
    const start = { events: measured, threads, cpus, intervalMs, isScaled: !unscaled };
    await this.#output.writeRecords(bytesOf(startOfCounts({ ...start, by: by as CountsBy })));
  }

  /** What was counted since the run began. */
  round(sofar: Measurement, isFinal = false): void {
    if (this.#places === null) return;
    const counts = this.#places.countsOf(sofar).map((count) => addedTo(count, this.#ofRunsBefore));
    const bytes = bytesOf(roundOfCounts(counts, { isFinal, timeNs: sofar.sinceStartNs }));
    this.#written = this.#written
      .then(() => (this.#error === null ? this.#output.writeRecords(bytes) : undefined))
      .catch((error: unknown) => {
        this.#error ??= error;
      });
  }

  /**
   * A run is over: what the next ones count is added to it, as readers take counts for
   * sums over the whole recording.
   */
  endRun(total: Measurement): void {
    if (this.#settings.intervalMs === undefined) this.round(total, true);
    for (const count of this.#places?.countsOf(total) ?? [])
      this.#ofRunsBefore.set(count.id, addedTo(count, this.#ofRunsBefore));
  }

  /** Throws where something could not be written. */
  async finish(): Promise<void> {
    await this.#written;
    if (this.#error !== null) throw this.#error;
    if (this.#places === null) return;
    await this.#output.finish(features(), () => new Uint8Array(0));
  }

  async close(): Promise<void> {
    await this.#written;
    // Without its end it still reads, as one that was cut short.
    this.#output.close();
  }
}

function addedTo(count: MeasuredCount, sums: ReadonlyMap<bigint, MeasuredCount>): MeasuredCount {
  const sum = sums.get(count.id);
  if (sum === undefined) return count;
  return {
    ...count,
    value: sum.value + count.value,
    enabledNs: sum.enabledNs + count.enabledNs,
    runningNs: sum.runningNs + count.runningNs,
  };
}

function bytesOf(records: readonly PerfRecord[]): Uint8Array<ArrayBuffer> {
  return encodeRecords(records, null);
}

function features(): Partial<PerfDataFeatures> {
  return {
    ...machineFeatures(),
    version: `counterpoint ${packageVersion()}`,
    commandLine: [process.argv[1] ?? 'counterpoint', ...process.argv.slice(2)],
    stat: true,
  };
}
