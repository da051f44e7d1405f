import { TripleTable } from '../../base/index.ts';
import type { Thread } from '../../code/machine/index.ts';
import { NONE, type Profile } from '../tables/index.ts';

/** Below so much of a sample a row that fades is nothing any more: with 7/8 after 23 times. */
const LEAST_COUNT = 0.05;

/** Rows of `Profile.threads`, kept in the threads of the machine themselves. */
export class ThreadRows {
  readonly #profile: Profile;
  readonly #rows = new Map<number, number>();

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** A thread's first sample, or its first since it changed its name: sets `profileRow` and `profileComm`. */
  add(thread: Thread): void {
    const { threads, strings } = this.#profile;
    const comm = strings.intern(thread.comm);
    const known = this.#rows.get(thread.tid);
    thread.profileComm = comm;
    if (known !== undefined && threads.pid.at(known) === thread.process.pid) {
      threads.comm.data[known] = comm;
      thread.profileRow = known;
      return;
    }
    thread.profileRow = threads.pid.push(thread.process.pid);
    threads.tid.push(thread.tid);
    threads.comm.push(comm);
    this.#rows.set(thread.tid, thread.profileRow);
  }
}

/** Rows of `Profile.samples`, one for all samples with the same event, thread, command, CPU and stack. */
export class MergedSamples {
  readonly #profile: Profile;
  readonly #merged = new TripleTable();
  readonly #places = new TripleTable();
  readonly #withTexts = new TripleTable();
  #lastPlace = { event: -1, thread: -1, comm: -1, place: -1 };

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** `texts`: row of `Profile.sampleTexts`, where there are any. */
  add(
    thread: Thread,
    cpu: number,
    event: number,
    stack: number,
    weight: number,
    count: number,
    texts: number = NONE,
  ): void {
    const { profileRow: row, profileComm: comm } = thread;
    const place = this.#placeOf(event, row, comm);
    const found = this.#merged.find(texts === NONE ? place : this.#placeWithTexts(place, texts), stack, cpu);
    const { samples, sampleTexts } = this.#profile;
    if (found >= 0) {
      samples.weight.data[found]! += weight;
      samples.count.data[found]! += count;
      return;
    }
    samples.add(Number.NaN, row, comm, cpu, event, stack, weight, count);
    sampleTexts?.ofSample.push(texts);
  }

  /** Below zero: other places are not. */
  #placeWithTexts(place: number, texts: number): number {
    const found = this.#withTexts.find(place, texts, 0);
    return -2 - (found < 0 ? -1 - found : found);
  }

  /** Every row keeps this share of what it has; those of which nothing is left go. */
  fade(share: number): void {
    const { samples } = this.#profile;
    const columns = [samples.timeNs, samples.thread, samples.comm, samples.cpu, samples.event, samples.stack];
    const { weight, count } = samples;
    this.#merged.clear();
    this.#places.clear();
    this.#lastPlace.place = NONE;
    this.#lastPlace.event = NONE;
    let kept = 0;
    for (let row = 0; row < samples.length; row++) {
      const left = count.data[row]! * share;
      if (left < LEAST_COUNT) continue;
      for (const { data } of columns) data[kept] = data[row]!;
      weight.data[kept] = weight.data[row]! * share;
      count.data[kept] = left;
      const place = this.#placeOf(samples.event.at(kept), samples.thread.at(kept), samples.comm.at(kept));
      this.#merged.find(place, samples.stack.at(kept), samples.cpu.at(kept));
      kept++;
    }
    for (const column of [...columns, weight, count]) column.length = kept;
  }

  /** (event, thread, command) as one number; mostly that of the sample before. */
  #placeOf(event: number, thread: number, comm: number): number {
    const lastPlace = this.#lastPlace;
    if (lastPlace.event !== event || lastPlace.thread !== thread || lastPlace.comm !== comm) {
      const found = this.#places.find(event, thread, comm);
      this.#lastPlace = { event, thread, comm, place: found < 0 ? -1 - found : found };
    }
    return this.#lastPlace.place;
  }
}
