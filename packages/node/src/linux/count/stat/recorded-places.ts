import { PERF_SAMPLE_IDENTIFIER } from '@counterpoint/core/abi';
import type { CountsThread, MeasuredCount, MeasuredEvent } from '@counterpoint/core/counts';
import type { WrittenEvent } from '@counterpoint/core/perfdata';
import { makeAttr } from '@counterpoint/core/records';
import { readTask } from '../../kernel/target/index.ts';
import type { CountingSession } from '../counting/index.ts';
import { type Measurement, unitOf } from './measurement.ts';

interface Place {
  task: number;
  cpu: number;
}

const EVERYBODY = -1;

/**
 * The places of a session's counters, as a recording of counts names them: an id for each event at each
 * place, and threads by their index. A time that the tool measures itself has one, at the first place of all.
 */
export class RecordedPlaces {
  readonly events: readonly WrittenEvent[];
  readonly measured: readonly MeasuredEvent[];
  readonly threads: readonly CountsThread[];
  /** Empty: wherever the threads run. */
  readonly cpus: readonly number[];
  /** By event, the id at `TASK CPU`. */
  readonly #ids: ReadonlyMap<string, bigint>[] = [];
  readonly #first: Place;
  readonly #isCommand: boolean;
  /** Counts of places that were not there when the recording began. */
  leftOut = 0;

  constructor(session: CountingSession, withNames: boolean) {
    const { openSets, countedEvents, target } = session;
    const counters = openSets[0]?.counters ?? [];
    const counted = countedEvents[0] ?? [];
    const all: Place[] = counters.flat().map(({ row }) => row);
    this.#first = all[0] ?? { task: EVERYBODY, cpu: -1 };
    this.#isCommand = target.kind === 'command';
    const tids = [...new Set((all.length === 0 ? [this.#first] : all).map(({ task }) => task))];
    this.threads = tids.map((tid) => ({ tid, name: withNames ? (readTask(tid, tid)?.name ?? '') : '' }));
    this.cpus = [...new Set(all.map(({ cpu }) => cpu))].filter((cpu) => cpu >= 0).sort((a, b) => a - b);
    let nextId = 1n;
    this.events = counted.map(({ attr, tool, name }, index): WrittenEvent => {
      const places: Place[] = tool === null ? (counters[index] ?? []).map(({ row }) => row) : [this.#first];
      this.#ids.push(new Map(places.map((place) => [this.#key(place), nextId++])));
      // Of all its fields perf needs this one to know events by their ids.
      const written = makeAttr({
        ...attr,
        sampleType: BigInt(PERF_SAMPLE_IDENTIFIER),
        samplePeriodOrFreq: 0n,
      });
      return { attr: written, ids: [...this.#ids[index]!.values()], name };
    });
    this.measured = counted.flatMap((event, index): MeasuredEvent[] => {
      const [id] = this.#ids[index]!.values();
      return id === undefined ? [] : [{ id, ...unitOf(event) }];
    });
  }

  /** Each run of a command is another process, at the same place. */
  #key({ task, cpu }: Place): string {
    return `${this.#isCommand ? 0 : task} ${cpu}`;
  }

  /** What was measured, as sums since the beginning. */
  countsOf({ events }: Measurement): MeasuredCount[] {
    return events.flatMap(({ index, tool, count }) => {
      const places = tool === null ? count.places : [{ ...count, ...this.#first }];
      return places.flatMap(({ task, cpu, value, enabledNs, runningNs }): MeasuredCount[] => {
        const id = this.#ids[index]?.get(this.#key({ task, cpu }));
        const thread = this.#isCommand ? 0 : this.threads.findIndex(({ tid }) => tid === task);
        // An event that is not supported has places in a table, and no counters.
        if (id === undefined || thread < 0) {
          if (count.status !== 'not-supported') this.leftOut++;
          return [];
        }
        return [{ id, cpu, thread, value: value ?? 0n, enabledNs, runningNs }];
      });
    });
  }
}
