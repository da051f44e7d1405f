import { TWO_32 } from '../../base/index.ts';
import {
  type AddedRecords,
  hasMonotonicTimes,
  hasRawUserStacks,
  type PerfDataReader,
  type RecordedEvent,
  type RecordSink,
  type RecordSource,
  type SourceScanOptions,
} from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_TIME,
} from '../../format/abi/index.ts';
import { decodeRecord, decodeSampleInto, SampleFields } from '../../format/records/index.ts';
import { Machine, type Mapping, mappedJitDump, SIDEBAND_TYPES } from '../machine/index.ts';
import type { SymbolDriver } from '../symbols/index.ts';
import { ARM64, type Architecture, I386, X86_64 } from './architectures.ts';
import { STACK_CUT, STACK_LOST, STACK_WAITS, StackUnwinder } from './stack-unwinder.ts';
import { UnfinishedStacks } from './unfinished-stacks.ts';
import { UnwindRules } from './unwind-rules.ts';
import { UnwoundRecord } from './unwound-record.ts';

/** Options of `withUnwoundStacks()`. */
export interface UnwindOptions {
  /** Where binaries come from, with their frame information. */
  files: SymbolDriver;
  /** Whether a file that no build id proves to be the recorded one may be used; default yes. */
  acceptUnverified?: (recording: { hostname: string | null; osRelease: string | null }) => boolean;
}

/**
 * The records of a source; samples that carry a copy of the user's stack (`--call-graph dwarf`) have the
 * callers in their call chains instead. Binaries are asked for when the first stack needs them.
 */
export function withUnwoundStacks(source: RecordSource, options: UnwindOptions): RecordSource {
  return {
    reader: source.reader,
    scan: async (sink, scan: SourceScanOptions = {}) => {
      const unwound = new UnwindingSink(source.reader, sink, options);
      const drain = async (): Promise<void> => {
        await unwound.drain();
        await scan.onChunk?.();
      };
      const added = await source.scan(unwound, { ...scan, onChunk: drain });
      await drain();
      return unwound.added(added);
    },
  };
}

/** Records that wait for files. A stretch of memory that grows, used again. */
interface WaitingRecord {
  bytes: Uint8Array<ArrayBuffer>;
  type: number;
  fileOffset: number;
}

/** PERF_SAMPLE_REGS_ABI_32; 64 is 2. */
const REGS_ABI_32 = 1;

class UnwindingSink implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #sink: RecordSink;
  readonly #machine = new Machine();
  readonly #fields = new SampleFields();
  readonly #record: UnwoundRecord;
  readonly #rules: UnwindRules;
  readonly #unwinders = new Map<Architecture, StackUnwinder>();
  readonly #places = new Map<RecordedEvent, Map<Architecture, Int8Array>>();
  readonly #unfinished = new UnfinishedStacks();
  #waiting: WaitingRecord[] = [];
  #buildIds = new Map<string, string>();
  #buildIdCount = 0;

  constructor(reader: PerfDataReader, sink: RecordSink, options: UnwindOptions) {
    this.#reader = reader;
    this.#sink = sink;
    this.#record = new UnwoundRecord(reader.littleEndian);
    this.#rules = new UnwindRules(
      options.files,
      (mapping) => ({
        buildId: mapping.buildId || this.#storedBuildId(mapping),
        acceptUnverified: options.acceptUnverified?.(machineOf(reader)) ?? true,
      }),
      () => hasMonotonicTimes(reader.events),
    );
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    // What comes behind a record that waits must not overtake it.
    if (this.#waiting.length === 0 && this.#pass(view, start, end, type, fileOffset)) return;
    const bytes = new Uint8Array(
      view.buffer,
      view.byteOffset + start,
      end - start,
    ).slice() as Uint8Array<ArrayBuffer>;
    this.#waiting.push({ bytes, type, fileOffset });
  }

  /** Loads what records wait for, and lets them pass. */
  async drain(): Promise<void> {
    const waiting = this.#waiting;
    for (const { bytes, type, fileOffset } of waiting) {
      const view = new DataView(bytes.buffer);
      while (!this.#pass(view, 0, bytes.length, type, fileOffset)) await this.#rules.load();
    }
    this.#waiting = [];
  }

  added(others: AddedRecords | null): AddedRecords | null {
    if (!this.#reader.events.events.some(canUnwind)) return others;
    return {
      ...others,
      hasCallers: true,
      diagnostics: [...(others?.diagnostics ?? []), ...this.#rules.diagnostics],
      losses: [...(others?.losses ?? []), ...this.#unfinished.list()],
    };
  }

  /** False where it has to wait; then nothing was done. */
  #pass(view: DataView, start: number, end: number, type: number, fileOffset: number): boolean {
    const { events, littleEndian } = this.#reader;
    if (type === PERF_RECORD_SAMPLE) {
      const event = events.eventOf(view, start, end, type, littleEndian);
      if (event !== null && canUnwind(event)) {
        const isReady = this.#unwind(view, start, end, event);
        if (isReady === null) return false;
        if (isReady) {
          this.#sink.record(this.#record.view, 0, this.#record.size, type, fileOffset);
          return true;
        }
      }
    } else if (type < PERF_RECORD_USER_TYPE_START && SIDEBAND_TYPES.has(type)) {
      const event = events.eventOf(view, start, end, type, littleEndian) ?? events.events[0] ?? null;
      const record = decodeRecord(view, start, end - start, event?.layout ?? null, littleEndian);
      this.#machine.record(record);
      const dump = mappedJitDump(record);
      if (dump !== null) this.#rules.addDump(dump.pid, dump.path);
    }
    this.#sink.record(view, start, end, type, fileOffset);
    return true;
  }

  /** True: `#record` has the sample. False: it has no stack. Null: binaries have to be loaded first. */
  #unwind(view: DataView, start: number, end: number, event: RecordedEvent): boolean | null {
    const le = this.#reader.littleEndian;
    const fields = this.#fields;
    if (!decodeSampleInto(view, start, end, event.layout, le, fields)) return false;
    const architecture = this.#architectureOf(fields.userRegsAbi);
    if (architecture === null || fields.userStackOffset === 0 || fields.userRegsOffset === 0) return false;
    const unwinder = this.#unwinderOf(architecture);
    const { process } = this.#machine.thread(fields.pid, fields.tid);
    const mode = view.getUint16(start + 4, le) & PERF_RECORD_MISC_CPUMODE_MASK;
    if (process.formerMaps !== null && mode === PERF_RECORD_MISC_USER) process.leaveExec();
    const hasTime = (event.layout.sampleType & PERF_SAMPLE_TIME) !== 0;
    const timeNs = hasTime ? fields.timeHi * TWO_32 + fields.timeLo : Number.POSITIVE_INFINITY;
    this.#rules.select(process, architecture.machine, timeNs);
    this.#readRegisters(view, event, architecture, unwinder.registers);
    const stack = unwinder.registers[architecture.stackPointer]!;
    unwinder.memory.set(view, fields.userStackOffset, fields.userStackDynamicSize, stack, le);
    const how = unwinder.unwind(this.#rules.find);
    if (how === STACK_WAITS) return null;
    const { addresses, count } = unwinder;
    const hasRoom = this.#record.set(view, start, end, fields, addresses, count);
    if (how === STACK_CUT || !hasRoom) this.#unfinished.add('user-stack-cut', event, fields);
    else if (how === STACK_LOST) this.#unfinished.add('user-stack-not-unwound', event, fields);
    return true;
  }

  #readRegisters(view: DataView, event: RecordedEvent, architecture: Architecture, out: Float64Array): void {
    const le = this.#reader.littleEndian;
    const places = this.#placesOf(event, architecture);
    const { userRegsOffset } = this.#fields;
    for (let register = 0; register < places.length; register++) {
      const place = places[register]!;
      if (place < 0) {
        out[register] = Number.NaN;
        continue;
      }
      const at = userRegsOffset + place * 8;
      const lo = view.getUint32(at + (le ? 0 : 4), le);
      out[register] = view.getUint32(at + (le ? 4 : 0), le) * TWO_32 + lo;
    }
  }

  /** Where each register stands in the dumps of an event, -1: it was not asked for. */
  #placesOf(event: RecordedEvent, architecture: Architecture): Int8Array {
    let byArchitecture = this.#places.get(event);
    if (byArchitecture === undefined) this.#places.set(event, (byArchitecture = new Map()));
    let places = byArchitecture.get(architecture);
    if (places === undefined) {
      const mask = event.attr.sampleRegsUser;
      places = architecture.perfRegisters.map((bit) => (bit < 0 ? -1 : placeOfBit(mask, bit)));
      byArchitecture.set(architecture, places);
    }
    return places;
  }

  /** By the kind of the dump; the recording says whose machine it was. Null where no registers are. */
  #architectureOf(abi: number): Architecture | null {
    if (abi === 0) return null;
    const arch = this.#reader.features.arch;
    if (arch === 'aarch64' || arch === 'arm64') return abi === REGS_ABI_32 ? null : ARM64;
    if (arch !== undefined && !/^(?:x86|i[3-6]86|amd64)/.test(arch)) return null;
    return abi === REGS_ABI_32 ? I386 : X86_64;
  }

  #unwinderOf(architecture: Architecture): StackUnwinder {
    let unwinder = this.#unwinders.get(architecture);
    if (unwinder === undefined) {
      unwinder = new StackUnwinder(architecture, this.#reader.littleEndian);
      this.#unwinders.set(architecture, unwinder);
    }
    return unwinder;
  }

  /** From the file's table; made again when a pipe gave more. */
  #storedBuildId({ path }: Mapping): string {
    const buildIds = this.#reader.features.buildIds ?? [];
    if (this.#buildIdCount !== buildIds.length) {
      this.#buildIdCount = buildIds.length;
      this.#buildIds = new Map(buildIds.map((entry) => [entry.path, entry.buildId]));
    }
    return this.#buildIds.get(path) ?? '';
  }
}

function machineOf({ features }: PerfDataReader): { hostname: string | null; osRelease: string | null } {
  return { hostname: features.hostname ?? null, osRelease: features.osRelease ?? null };
}

/** The callers have a place to go. */
function canUnwind(event: RecordedEvent): boolean {
  return (event.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0 && hasRawUserStacks(event);
}

function placeOfBit(mask: bigint, bit: number): number {
  if (((mask >> BigInt(bit)) & 1n) === 0n) return -1;
  let place = 0;
  for (let lower = 0; lower < bit; lower++) if (((mask >> BigInt(lower)) & 1n) !== 0n) place++;
  return place;
}
