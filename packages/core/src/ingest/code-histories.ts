import { FEATURE_RECORDED_FILES } from '../abi/index.ts';
import { FormatError } from '../base/index.ts';
import {
  type CodeHistory,
  codeHistory,
  decodeMapTimes,
  type MapTime,
  type PerfMap,
  PerfMapParser,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
} from '../jit/index.ts';
import type { PerfDataReader } from '../perfdata/index.ts';
import { orderByAddress } from '../symbols/index.ts';
import { RecordedFiles } from './recorded-files.ts';

/** A map that travels with the recording, and how many of its lines were there when. */
interface TimedMap {
  map: PerfMap;
  times: readonly MapTime[];
  lines: readonly number[];
}

/**
 * Which generated code was where and when, of processes whose recording tells it. A pipe brings it behind the
 * samples: of a pipe nothing is known.
 */
export class CodeHistories {
  readonly #maps = new Map<number, TimedMap>();
  readonly #histories = new Map<number, CodeHistory | null>();

  /** Before the first sample. What is damaged is left out: the maps alone serve as well as they can. */
  async load(reader: Pick<PerfDataReader, 'features'>): Promise<void> {
    if (!reader.features.raw.has(FEATURE_RECORDED_FILES)) return;
    const files = new RecordedFiles(reader);
    try {
      for (const pid of files.pidsOf(RECORDED_MAP_TIMES)) {
        const times = await files.bytesOf(RECORDED_MAP_TIMES, pid);
        const map = await files.bytesOf(RECORDED_PERF_MAP, pid);
        if (times !== null && map !== null) this.#maps.set(pid, timedMap(map, decodeMapTimes(times)));
      }
    } catch (error) {
      // Who loads the names says what is damaged.
      if (!(error instanceof FormatError)) throw error;
    }
  }

  get isEmpty(): boolean {
    return this.#maps.size === 0;
  }

  /** The map of a process, where it has been read. */
  mapOf(pid: number): PerfMap | null {
    return this.#maps.get(pid)?.map ?? null;
  }

  /** Null where no memory was used twice. Times are relative to `baseNs`. */
  of(pid: number, baseNs: bigint): CodeHistory | null {
    let history = this.#histories.get(pid);
    if (history === undefined) {
      const timed = this.#maps.get(pid);
      history = timed === undefined ? null : historyOf(timed, baseNs);
      this.#histories.set(pid, history);
    }
    return history;
  }
}

function historyOf({ map, times, lines }: TimedMap, baseNs: bigint): CodeHistory | null {
  const lineTimes = times.map(({ timeUs }, row) => ({
    timeNs: Number(BigInt(timeUs) * 1000n - baseNs),
    lines: lines[row]!,
  }));
  return codeHistory(map, orderByAddress(map.start.subarray(0, map.count)), lineTimes);
}

function timedMap(bytes: Uint8Array, times: readonly MapTime[]): TimedMap {
  const parser = new PerfMapParser(bytes.length);
  let at = 0;
  const lines = times.map(({ sizeBytes }) => {
    const end = Math.min(bytes.length, sizeBytes);
    if (end > at) parser.push(bytes.subarray(at, end));
    at = Math.max(at, end);
    return parser.lineCount;
  });
  parser.push(bytes.subarray(at));
  return { map: parser.finish(), times, lines };
}
