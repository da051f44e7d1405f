import { parseScriptName } from '../../../code/jit/index.ts';
import { checkProfile, JIT_WITHOUT_NAMES, NONE, type Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { lossLine, lossTotals } from '../loss-words.ts';
import { type ExportOptions, type ExportPlan, planExport } from '../options.ts';
import { programName } from '../program.ts';
import { type FrameLabels, labelFrames, plainName } from '../stacks/frame-labels.ts';
import { groupSamples } from '../stacks/sample-groups.ts';
import {
  FUNCTION_FILENAME,
  FUNCTION_ID,
  FUNCTION_NAME,
  FUNCTION_START_LINE,
  FUNCTION_SYSTEM_NAME,
  LABEL_KEY,
  LABEL_NUM,
  LABEL_STR,
  LINE_FUNCTION_ID,
  LINE_LINE,
  LOCATION_ADDRESS,
  LOCATION_ID,
  LOCATION_LINE,
  LOCATION_MAPPING_ID,
  MAPPING_BUILD_ID,
  MAPPING_FILENAME,
  MAPPING_HAS_FUNCTIONS,
  MAPPING_ID,
  MAPPING_MEMORY_LIMIT,
  MAPPING_MEMORY_START,
  PROFILE_COMMENT,
  PROFILE_DEFAULT_SAMPLE_TYPE,
  PROFILE_DURATION_NANOS,
  PROFILE_FUNCTION,
  PROFILE_LOCATION,
  PROFILE_MAPPING,
  PROFILE_PERIOD,
  PROFILE_PERIOD_TYPE,
  PROFILE_SAMPLE,
  PROFILE_SAMPLE_TYPE,
  PROFILE_STRING_TABLE,
  PROFILE_TIME_NANOS,
  SAMPLE_LABEL,
  SAMPLE_LOCATION_ID,
  SAMPLE_VALUE,
  VALUE_TYPE_TYPE,
  VALUE_TYPE_UNIT,
} from './fields.ts';
import { MessageWriter, varint } from './protobuf.ts';

/** proto `int64` of times and sums: what is above is clamped, far beyond any real recording. */
const MAX_VALUE = Number.MAX_SAFE_INTEGER;

/**
 * pprof's `profile.proto`, in a gzip envelope where `options.compress` is given. Two values per sample,
 * samples/count and the event; equal stacks of one thread and command are one sample. Losses and the command
 * line are comments (`pprof -comments`).
 */
export async function* writePprof(
  profile: Profile,
  options: ExportOptions = {},
): AsyncGenerator<Uint8Array<ArrayBufferLike>> {
  checkProfile('writePprof()', profile);
  const { compress } = options;
  if (compress === undefined) {
    yield* encodePprof(profile, options);
    return;
  }
  // One gzip member: some readers stop after the first.
  const whole = new ByteWriter();
  for (const chunk of encodePprof(profile, options)) whole.raw(chunk);
  yield await compress(whole.take());
}

/** The protobuf itself. A message is the concatenation of its fields, so it streams. */
export function* encodePprof(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  yield* new PprofEncoder(profile, planExport(profile, options, 'period')).encode();
}

class PprofEncoder {
  readonly #profile: Profile;
  readonly #plan: ExportPlan;
  readonly #labels: FrameLabels;
  readonly #out = new MessageWriter();
  readonly #inner = new MessageWriter();
  readonly #strings = new Map<string, number>([['', 0]]);
  /** Binaries of JIT code with addresses that have no name. */
  readonly #nameless = new Set<number>();

  constructor(profile: Profile, plan: ExportPlan) {
    this.#profile = profile;
    this.#plan = plan;
    this.#labels = labelFrames(profile);
  }

  *encode(): Generator<Uint8Array<ArrayBuffer>> {
    const { event } = this.#plan;
    const buffer = this.#out.out;
    this.#valueType(PROFILE_SAMPLE_TYPE, 'samples', 'count');
    this.#valueType(PROFILE_SAMPLE_TYPE, event.name, event.unit);
    const period = yield* this.#samples();
    this.#mappings();
    yield* this.#locations();
    yield* this.#functions();
    this.#facts(period);
    for (const text of this.#strings.keys()) {
      this.#out.string(PROFILE_STRING_TABLE, text);
      if (buffer.isFull) yield buffer.take();
    }
    yield buffer.take();
  }

  /** Returns the mean period: the true one where it was fixed. */
  *#samples(): Generator<Uint8Array<ArrayBuffer>, number> {
    const { samples, stacks, strings } = this.#profile;
    const pairKey = strings.size;
    const groups = groupSamples(
      this.#profile,
      this.#plan.eventIndex,
      (sample) => samples.thread.at(sample) * pairKey + samples.comm.at(sample),
    );
    // Place 0 is for samples without a stack; only places listed in `used` are not zero.
    const counts = new Float64Array(stacks.length + 1);
    const weights = new Float64Array(stacks.length + 1);
    const packed = new ByteWriter();
    let weightSum = 0;
    let countSum = 0;
    for (const [group, key] of groups.keys.entries()) {
      const labels = this.#threadLabels(Math.floor(key / pairKey), key % pairKey);
      const used: number[] = [];
      for (let at = groups.start[group]!; at < groups.start[group + 1]!; at++) {
        const sample = groups.order[at]!;
        const place = samples.stack.at(sample) + 1;
        if (counts[place]! === 0) used.push(place);
        counts[place]! += samples.count.at(sample);
        weights[place]! += samples.weight.at(sample);
      }
      for (const place of used) {
        this.#inner.clear();
        packed.clear();
        for (let row = place - 1; row !== NONE; row = stacks.prefix.at(row)) {
          varint(packed, stacks.frame.at(row) + 1);
        }
        if (packed.length > 0) this.#inner.bytes(SAMPLE_LOCATION_ID, packed.view());
        packed.clear();
        varint(packed, counts[place]!);
        varint(packed, wholeNumber(weights[place]!));
        this.#inner.bytes(SAMPLE_VALUE, packed.view());
        this.#inner.out.raw(labels);
        this.#out.message(PROFILE_SAMPLE, this.#inner);
        if (this.#out.out.isFull) yield this.#out.out.take();
        weightSum += weights[place]!;
        countSum += counts[place]!;
        counts[place] = 0;
        weights[place] = 0;
      }
    }
    return countSum === 0 ? 0 : weightSum / countSum;
  }

  /** The labels of every sample of a thread, encoded once. */
  #threadLabels(thread: number, comm: number): Uint8Array {
    const { strings, threads } = this.#profile;
    const all = new MessageWriter();
    const label = (key: string, field: number, value: number) => {
      this.#inner.clear();
      this.#inner.number(LABEL_KEY, this.#string(key));
      this.#inner.number(field, value);
      all.message(SAMPLE_LABEL, this.#inner);
    };
    label('thread', LABEL_STR, this.#string(strings.get(comm)));
    label('pid', LABEL_NUM, Math.max(0, threads.pid.at(thread)));
    label('tid', LABEL_NUM, Math.max(0, threads.tid.at(thread)));
    return all.out.take();
  }

  /**
   * One per binary, ids in the order of `mappingId`. Ranges are in the binary's own terms, so
   * they start at file offset 0.
   */
  #mappings(): void {
    const { binaries, frames } = this.#profile;
    const limitLo = new Uint32Array(binaries.length);
    const limitHi = new Uint32Array(binaries.length);
    const nameless = new Uint8Array(binaries.length);
    for (let frame = 0; frame < frames.length; frame++) {
      const binary = frames.binary.at(frame);
      const lo = frames.addressLo.at(frame) >>> 0;
      const hi = frames.addressHi.at(frame) >>> 0;
      if (hi > limitHi[binary]! || (hi === limitHi[binary] && lo > limitLo[binary]!)) {
        limitLo[binary] = lo;
        limitHi[binary] = hi;
      }
      if (frames.symbol.at(frame) === NONE) nameless[binary] = 1;
    }
    for (const binary of this.#mappingOrder()) {
      const { path, buildId, kind } = binaries[binary]!;
      const isAbsolute = kind === 'kernel' || kind === 'module' || kind === 'jit';
      this.#inner.clear();
      this.#inner.number(MAPPING_ID, binary + 1);
      // A limit lies beyond the last address. Absolute ranges start at the last one's 4 GiB, so
      // that ranges are plausible.
      if (isAbsolute) this.#inner.uint64(MAPPING_MEMORY_START, 0, limitHi[binary]!);
      const isLast = limitLo[binary] === 0xffff_ffff;
      this.#inner.uint64(MAPPING_MEMORY_LIMIT, isLast ? 0xffff_ffff : limitLo[binary]! + 1, limitHi[binary]!);
      this.#inner.number(MAPPING_FILENAME, this.#string(path));
      this.#inner.number(MAPPING_BUILD_ID, this.#string(buildId));
      this.#inner.flag(MAPPING_HAS_FUNCTIONS, nameless[binary] === 0);
      this.#out.message(PROFILE_MAPPING, this.#inner);
    }
  }

  /**
   * By convention the first mapping is the main program: the one named like the program,
   * else the first user binary.
   */
  #mappingOrder(): number[] {
    const { binaries } = this.#profile;
    const program = programName(this.#profile, this.#plan.eventIndex);
    const order = [...binaries.keys()];
    let main = binaries.findIndex((binary) => binary.kind === 'user' && binary.name === program);
    if (main < 0) main = binaries.findIndex((binary) => binary.kind === 'user');
    if (main > 0) order.unshift(...order.splice(main, 1));
    return order;
  }

  *#locations(): Generator<Uint8Array<ArrayBuffer>> {
    const { frames, sources } = this.#profile;
    const line = new MessageWriter();
    for (let frame = 0; frame < frames.length; frame++) {
      const symbol = frames.symbol.at(frame);
      this.#inner.clear();
      this.#inner.number(LOCATION_ID, frame + 1);
      this.#inner.number(LOCATION_MAPPING_ID, frames.binary.at(frame) + 1);
      this.#inner.uint64(
        LOCATION_ADDRESS,
        frames.addressLo.at(frame) >>> 0,
        frames.addressHi.at(frame) >>> 0,
      );
      const { family, script } = this.#labels.labels[this.#labels.ofFrame[frame]!]!;
      if (symbol !== NONE || family === 'jit') {
        line.clear();
        line.number(LINE_FUNCTION_ID, symbol === NONE ? this.#namelessId(frame) : symbol + 1);
        const source = frames.source.at(frame);
        line.number(LINE_LINE, source === NONE ? (script?.line ?? 0) : sources.line.at(source));
        this.#inner.message(LOCATION_LINE, line);
      }
      this.#out.message(PROFILE_LOCATION, this.#inner);
      if (this.#out.out.isFull) yield this.#out.out.take();
    }
  }

  /** Of the function that all nameless JIT code of a process is, behind those of the symbols. */
  #namelessId(frame: number): number {
    const binary = this.#profile.frames.binary.at(frame);
    this.#nameless.add(binary);
    return this.#profile.symbols.length + 1 + binary;
  }

  *#functions(): Generator<Uint8Array<ArrayBuffer>> {
    const { binaries, frames, strings, symbols } = this.#profile;
    const files = new Map<number, string>();
    for (let frame = 0; frame < frames.length; frame++) {
      const { file } = this.#labels.labels[this.#labels.ofFrame[frame]!]!;
      if (file !== undefined) files.set(frames.symbol.at(frame), file);
    }
    for (let symbol = 0; symbol < symbols.length; symbol++) {
      const name = plainName(strings.get(symbols.name.at(symbol)));
      const isCode = binaries[symbols.binary.at(symbol)]?.kind === 'jit';
      const script = isCode ? parseScriptName(name) : null;
      this.#inner.clear();
      this.#inner.number(FUNCTION_ID, symbol + 1);
      this.#inner.number(FUNCTION_NAME, this.#string(script?.name ?? name));
      this.#inner.number(FUNCTION_SYSTEM_NAME, this.#string(name));
      this.#inner.number(FUNCTION_FILENAME, this.#string(script?.file ?? files.get(symbol) ?? ''));
      this.#inner.number(FUNCTION_START_LINE, script?.line ?? 0);
      this.#out.message(PROFILE_FUNCTION, this.#inner);
      if (this.#out.out.isFull) yield this.#out.out.take();
    }
    for (const binary of this.#nameless) {
      this.#inner.clear();
      this.#inner.number(FUNCTION_ID, symbols.length + 1 + binary);
      this.#inner.number(FUNCTION_NAME, this.#string(JIT_WITHOUT_NAMES));
      this.#out.message(PROFILE_FUNCTION, this.#inner);
    }
  }

  #facts(period: number): void {
    const { meta, loss, damage } = this.#profile;
    const { durationNs, event, title, weight } = this.#plan;
    if (meta.startTimeUnixMs !== null) {
      const startNs = BigInt(Math.max(0, Math.round(meta.startTimeUnixMs * 1000))) * 1000n;
      this.#out.uint64(PROFILE_TIME_NANOS, Number(startNs & 0xffff_ffffn), Number(startNs >> 32n));
    }
    this.#out.number(PROFILE_DURATION_NANOS, wholeNumber(durationNs));
    this.#valueType(PROFILE_PERIOD_TYPE, event.name, event.unit);
    this.#out.number(PROFILE_PERIOD, wholeNumber(period));
    const comments = [
      `title: ${title}`,
      ...(meta.commandLine === null ? [] : [`command: ${meta.commandLine.join(' ')}`]),
      ...(meta.hostname === null
        ? []
        : [`host: ${[meta.hostname, meta.osRelease, meta.arch].join(' ').trim()}`]),
      `loss: ${lossLine(this.#profile)}`,
      ...lossTotals(loss).map(
        (total) => `loss ${total.kind}: ${total.count} ${total.unit}${total.exact ? '' : ' at least'}`,
      ),
      ...damage.map((entry) => `damage ${entry.code}: ${entry.count}, first at offset ${entry.firstOffset}`),
    ];
    for (const comment of comments) this.#out.number(PROFILE_COMMENT, this.#string(comment));
    this.#out.number(
      PROFILE_DEFAULT_SAMPLE_TYPE,
      this.#string(weight === 'samples' ? 'samples' : event.name),
    );
  }

  #valueType(field: number, type: string, unit: string): void {
    this.#inner.clear();
    this.#inner.number(VALUE_TYPE_TYPE, this.#string(type));
    this.#inner.number(VALUE_TYPE_UNIT, this.#string(unit));
    this.#out.message(field, this.#inner);
  }

  #string(text: string): number {
    let index = this.#strings.get(text);
    if (index === undefined) {
      index = this.#strings.size;
      this.#strings.set(text, index);
    }
    return index;
  }
}

function wholeNumber(value: number): number {
  const whole = Math.round(value);
  return whole >= 0 ? Math.min(whole, MAX_VALUE) : 0;
}
