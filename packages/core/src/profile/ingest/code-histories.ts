import { type Diagnostic, FormatError } from '../../base/index.ts';
import {
  type CodeHistory,
  codeHistory,
  decodeMapTimes,
  type MapTimes,
  type PerfMap,
  PerfMapParser,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
} from '../../code/jit/index.ts';
import { orderByAddress } from '../../code/symbols/index.ts';
import type { PerfDataReader } from '../../file-formats/perfdata/index.ts';
import { FEATURE_RECORDED_FILES } from '../../format/abi/index.ts';
import { CodeDumps } from './code-dumps.ts';
import { RecordedFiles } from './recorded-files.ts';

/** A map that travels with the recording, and how many of its lines were there when. */
interface TimedMap {
  map: PerfMap;
  times: MapTimes;
  lines: Uint32Array;
}

/** As they are in the recording: read when a sample of the process comes. */
interface TimedFiles {
  map: Uint8Array;
  times: Uint8Array;
}

/**
 * Which generated code was where and when, of processes whose recording tells it, or which wrote a dump of
 * it. A pipe brings what is recorded behind the samples: there only dumps tell it.
 */
export class CodeHistories {
  /** What processes wrote themselves. Where their times are of the samples' clock, nobody knows better. */
  readonly dumps = new CodeDumps();
  readonly #files = new Map<number, TimedFiles>();
  readonly #maps = new Map<number, TimedMap | null>();
  readonly #histories = new Map<number, CodeHistory | null>();
  /** By process: what is wrong with its times. */
  readonly #damage = new Map<number, string>();

  /** Before the first sample. What is damaged is left out: the maps alone serve as well as they can. */
  async load(reader: Pick<PerfDataReader, 'features'>): Promise<void> {
    if (!reader.features.raw.has(FEATURE_RECORDED_FILES)) return;
    const files = new RecordedFiles(reader);
    for (const pid of pidsIn(files)) {
      try {
        const times = await files.bytesOf(RECORDED_MAP_TIMES, pid);
        const map = await mapIn(files, pid);
        if (times !== null && map !== null) this.#files.set(pid, { map, times });
      } catch (error) {
        this.#tell(pid, error);
      }
    }
  }

  get isEmpty(): boolean {
    return this.#files.size === 0 && this.dumps.generation === 0;
  }

  /** Of times that are damaged, in one note; of dumps that are, too. */
  get diagnostics(): Diagnostic[] {
    return [...this.#damagedTimes(), ...this.dumps.diagnostics];
  }

  #damagedTimes(): Diagnostic[] {
    const [first] = this.#damage;
    if (first === undefined) return [];
    const [pid, why] = first;
    const others = this.#damage.size - 1;
    const more = others === 0 ? '' : `, and of ${others} other ${others === 1 ? 'process' : 'processes'}`;
    return [
      {
        code: 'map-times-damaged',
        path: `/tmp/perf-${pid}.map`,
        detail: `the times of generated code of process ${pid}${more} in the recording are damaged, so code whose memory was used again has the name of what was there last: ${why}`,
        remedy: '',
      },
    ];
  }

  /** The map of a process, where it has times or is that of a dump. */
  mapOf(pid: number): PerfMap | null {
    const dumped = this.dumps.mapOf(pid);
    return this.dumps.isTimed(pid) ? dumped : (this.#timed(pid)?.map ?? dumped);
  }

  /**
   * Null where no memory was used twice, or nobody knows when. Times are relative to `baseNs`. Ask again when
   * `dumps.generation` has changed.
   */
  of(pid: number, baseNs: bigint): CodeHistory | null {
    if (this.dumps.isTimed(pid) || !this.#files.has(pid)) return this.dumps.historyOf(pid, baseNs);
    let history = this.#histories.get(pid);
    if (history === undefined) {
      const timed = this.#timed(pid);
      history = timed === null ? null : historyOf(timed, baseNs);
      this.#histories.set(pid, history);
    }
    return history;
  }

  #timed(pid: number): TimedMap | null {
    const known = this.#maps.get(pid);
    if (known !== undefined) return known;
    let timed: TimedMap | null = null;
    const files = this.#files.get(pid);
    try {
      if (files !== undefined) timed = timedMap(files.map, decodeMapTimes(files.times));
    } catch (error) {
      this.#tell(pid, error);
    }
    this.#maps.set(pid, timed);
    // The bytes are no longer needed; that there were some still matters.
    if (files !== undefined) this.#files.set(pid, { map: NO_BYTES, times: NO_BYTES });
    return timed;
  }

  #tell(pid: number, error: unknown): void {
    if (!(error instanceof FormatError)) throw error;
    this.#damage.set(pid, error.message);
  }
}

const NO_BYTES = new Uint8Array(0);

/** None where the section is damaged: who loads the names says it. */
function pidsIn(files: RecordedFiles): number[] {
  try {
    return files.pidsOf(RECORDED_MAP_TIMES);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return [];
  }
}

/** Null where it is damaged: who loads the names says it. */
async function mapIn(files: RecordedFiles, pid: number): Promise<Uint8Array | null> {
  try {
    return await files.bytesOf(RECORDED_PERF_MAP, pid);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return null;
  }
}

function historyOf({ map, times, lines }: TimedMap, baseNs: bigint): CodeHistory | null {
  const timeNs = new Float64Array(times.count);
  for (let row = 0; row < times.count; row++)
    timeNs[row] = Number(BigInt(times.timeUs[row]!) * 1000n - baseNs);
  return codeHistory(map, orderByAddress(map.start.subarray(0, map.count)), { timeNs, lines });
}

function timedMap(bytes: Uint8Array, times: MapTimes): TimedMap {
  const parser = new PerfMapParser(bytes.length);
  let at = 0;
  const lines = new Uint32Array(times.count);
  for (let row = 0; row < times.count; row++) {
    const end = Math.min(bytes.length, times.sizeBytes[row]!);
    if (end > at) parser.push(bytes.subarray(at, end));
    at = Math.max(at, end);
    lines[row] = parser.lineCount;
  }
  parser.push(bytes.subarray(at));
  return { map: parser.finish(), times, lines };
}
