import { renameSync, rmSync } from 'node:fs';
import type { PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { ClosingRecords, RecordingOutput } from './output.ts';

const NOTHING = new Uint8Array(0);

/**
 * Files one after the other. As in perf, the name of each ends in the time at which the file ended:
 * perf.data.2026112518301507, perf.data.2026112518302511, ... Each file is whole: whoever switches begins the
 * next one with what runs at that time.
 */
export class DatedFiles implements RecordingOutput {
  readonly #path: string;
  readonly #open: (path: string) => RecordingOutput;
  /** Older ones are removed; 0 keeps all. */
  readonly #mostFiles: number;
  readonly #written: string[] = [];
  #file: RecordingOutput;
  #bytesBefore = 0;
  #events: readonly WrittenEvent[] = [];
  #early: () => Partial<PerfDataFeatures> = () => ({});

  constructor(path: string, open: (path: string) => RecordingOutput, mostFiles = 0) {
    this.#path = path;
    this.#open = open;
    this.#mostFiles = mostFiles;
    this.#file = open(path);
  }

  readonly keepsFeatures = true;

  /** Of all files. */
  get sizeBytes(): number {
    return this.#bytesBefore + this.#file.sizeBytes;
  }

  /** Of the one that is being written. */
  get fileBytes(): number {
    return this.#file.sizeBytes;
  }

  /** The last one that is whole. */
  get finalPath(): string {
    return this.#written.at(-1) ?? this.#path;
  }

  get hasLateRecords(): boolean {
    return this.#file.hasLateRecords;
  }

  set hasLateRecords(value: boolean) {
    this.#file.hasLateRecords = value;
  }

  begin(events: readonly WrittenEvent[], features: () => Partial<PerfDataFeatures>): void | Promise<void> {
    this.#events = events;
    this.#early = features;
    return this.#file.begin(events, features);
  }

  writeRecords(bytes: Uint8Array<ArrayBuffer>, oldestNs?: number): void | Promise<void> {
    return this.#file.writeRecords(bytes, oldestNs);
  }

  writeRound(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): void | Promise<void> {
    return this.#file.writeRound(spans, sizeBytes);
  }

  /** Complete this file, and begin the next one. */
  async switch(features: Partial<PerfDataFeatures>): Promise<void> {
    const { hasLateRecords } = this.#file;
    await this.#file.finish(features, () => NOTHING);
    this.#bytesBefore += this.#file.sizeBytes;
    this.#file.close();
    this.#rename();
    this.#file = this.#open(this.#path);
    this.#file.hasLateRecords = hasLateRecords;
    await this.#file.begin(this.#events, this.#early);
  }

  async finish(features: Partial<PerfDataFeatures>, closing: ClosingRecords): Promise<number> {
    const before = this.#bytesBefore;
    const end = await this.#file.finish(features, (roundsEnd) => closing(before + roundsEnd));
    this.#rename();
    return before + end;
  }

  #rename(): void {
    let name = `${this.#path}.${timestamp(new Date())}`;
    while (this.#written.includes(name)) name += '0';
    renameSync(this.#path, name);
    this.#written.push(name);
    if (this.#mostFiles === 0) return;
    while (this.#written.length > this.#mostFiles) rmSync(this.#written.shift()!, { force: true });
  }

  close(): void {
    this.#file.close();
  }
}

/** Local time to hundredths of a second: `2026112518301507`. */
function timestamp(now: Date): string {
  const two = (value: number) => `${value}`.padStart(2, '0');
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `${day}${time}${two(Math.floor(now.getMilliseconds() / 10))}`;
}
