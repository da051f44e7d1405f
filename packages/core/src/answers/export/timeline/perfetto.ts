import type { Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { lossLine } from '../loss-words.ts';
import { type ExportOptions, planExport } from '../options.ts';
import { MessageWriter, varint } from '../pprof/protobuf.ts';
import { labelFrames } from '../stacks/frame-labels.ts';
import { buildLabelTree } from '../stacks/label-tree.ts';
import { sliceEdges } from './call-slices.ts';
import * as field from './perfetto-fields.ts';
import { threadNames } from './thread-names.ts';

const WIRE_BYTES = 2;
/** All packets are of one writer. */
const SEQUENCE = 1;
/** A track of our own, which says what was recorded and what was lost. */
const NOTE_TRACK = 1;
/**
 * The number of a track is one of these, with the process or the row of the
 * thread; 0 is the trace as a whole.
 */
const FIRST_PROCESS_TRACK = 2 ** 32;
const FIRST_THREAD_TRACK = 2 ** 40;

/**
 * Perfetto's own protobuf: a track for each process and thread, and a slice for each function. A name is
 * written with its first use, and its number from then on.
 */
export function* writePerfetto(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const plan = planExport(profile, options, 'period');
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildLabelTree(profile, ofFrame);
  const out = new PacketWriter();
  out.note(`${plan.title} · ${plan.event.name} · ${lossLine(profile)}`, profile.baseTimeNs);
  for (const { thread, isProcess, name } of threadNames(profile, plan))
    out.track(profile, thread, isProcess, name);
  const categories = new Interned();
  const names = new Interned();
  for (const { thread, timeNs, node, isBegin } of sliceEdges(profile, plan, tree)) {
    const { event, interned } = out;
    event.clear();
    interned.clear();
    if (isBegin) {
      const label = tree.label[node]!;
      const { text, binary } = labels[label]!;
      const path = profile.binaries[binary]?.path ?? '';
      if (path !== '') {
        event.number(field.EVENT_CATEGORY_IIDS, categories.number(binary));
        if (categories.isNew) out.intern(field.INTERNED_CATEGORIES, categories.last, path);
      }
      event.number(field.EVENT_NAME_IID, names.number(label));
      if (names.isNew) out.intern(field.INTERNED_NAMES, names.last, text);
    }
    event.number(field.EVENT_TYPE, isBegin ? field.TYPE_SLICE_BEGIN : field.TYPE_SLICE_END);
    event.number(field.EVENT_TRACK_UUID, FIRST_THREAD_TRACK + thread);
    out.putEvent(profile.baseTimeNs + BigInt(Math.round(timeNs)));
    if (out.isFull) yield out.take();
  }
  yield out.take();
}

/** Packets, one after the other, with what each has. */
class PacketWriter {
  readonly event = new MessageWriter();
  readonly interned = new MessageWriter();
  readonly #packet = new MessageWriter();
  readonly #part = new MessageWriter();
  readonly #out = new ByteWriter();
  #isFirst = true;

  get isFull(): boolean {
    return this.#out.isFull;
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#out.take();
  }

  /** A name and its number, from this packet on. */
  intern(kind: number, number: number, text: string): void {
    const part = this.#part;
    part.clear();
    part.number(field.INTERNED_IID, number);
    part.string(field.INTERNED_NAME, text);
    this.interned.message(kind, part);
  }

  /**
   * Perfetto knows processes and threads by their numbers; one whose numbers nobody
   * knows is a track with a name.
   */
  track({ threads }: Profile, thread: number, isProcess: boolean, name: string): void {
    const { event: track } = this;
    const [pid, tid] = [threads.pid.at(thread), threads.tid.at(thread)];
    const isKnown = pid >= 0 && tid >= 0;
    if (isProcess && !isKnown) return;
    const processTrack = FIRST_PROCESS_TRACK + pid;
    track.clear();
    track.number(field.TRACK_UUID, isProcess ? processTrack : FIRST_THREAD_TRACK + thread);
    if (!isKnown) track.string(field.TRACK_NAME, name);
    else if (isProcess) track.message(field.TRACK_PROCESS, this.#process(pid, name));
    else {
      track.number(field.TRACK_PARENT_UUID, processTrack);
      track.message(field.TRACK_THREAD, this.#thread(pid, tid, name));
    }
    this.#packet.clear();
    this.#packet.message(field.PACKET_TRACK_DESCRIPTOR, track);
    this.#end();
  }

  #process(pid: number, name: string): MessageWriter {
    const part = this.#part;
    part.clear();
    part.given(field.PROCESS_PID, pid);
    part.string(field.PROCESS_NAME, name);
    return part;
  }

  #thread(pid: number, tid: number, name: string): MessageWriter {
    const part = this.#part;
    part.clear();
    part.given(field.THREAD_PID, pid);
    part.given(field.THREAD_TID, tid);
    part.string(field.THREAD_NAME, name);
    return part;
  }

  /** One moment, on a track of its own. */
  note(text: string, timeNs: bigint): void {
    const { event } = this;
    event.clear();
    event.number(field.TRACK_UUID, NOTE_TRACK);
    event.string(field.TRACK_NAME, 'counterpoint');
    this.#packet.clear();
    this.#packet.message(field.PACKET_TRACK_DESCRIPTOR, event);
    this.#end();
    event.clear();
    event.string(field.EVENT_NAME, text);
    event.number(field.EVENT_TYPE, field.TYPE_INSTANT);
    event.number(field.EVENT_TRACK_UUID, NOTE_TRACK);
    this.interned.clear();
    this.putEvent(timeNs);
  }

  /** What `event` is, with the names that are new with it. */
  putEvent(timeNs: bigint): void {
    const packet = this.#packet;
    const { event, interned } = this;
    packet.clear();
    if (timeNs === 0n) packet.given(field.PACKET_TIMESTAMP, 0);
    else packet.uint64(field.PACKET_TIMESTAMP, Number(timeNs & 0xffff_ffffn), Number(timeNs >> 32n));
    packet.message(field.PACKET_TRACK_EVENT, event);
    if (interned.out.length > 0) packet.message(field.PACKET_INTERNED_DATA, interned);
    this.#end();
  }

  /** The packet is whole. */
  #end(): void {
    const packet = this.#packet;
    packet.number(field.PACKET_SEQUENCE_ID, SEQUENCE);
    packet.number(
      field.PACKET_SEQUENCE_FLAGS,
      field.SEQUENCE_NEEDS_STATE + (this.#isFirst ? field.SEQUENCE_CLEARED : 0),
    );
    this.#isFirst = false;
    varint(this.#out, field.TRACE_PACKET * 8 + WIRE_BYTES);
    varint(this.#out, packet.out.length);
    this.#out.raw(packet.out.view());
  }
}

/** Numbers from 1 on, in the order of the first use. */
class Interned {
  readonly #numbers = new Map<number, number>();
  last = 0;
  isNew = false;

  number(row: number): number {
    const known = this.#numbers.get(row);
    this.isNew = known === undefined;
    this.last = known ?? this.#numbers.size + 1;
    if (this.isNew) this.#numbers.set(row, this.last);
    return this.last;
  }
}
