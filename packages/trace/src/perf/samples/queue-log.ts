import { toHex } from '@counterpoint/core/base';
import { KIND_NAMES } from '../../code/instructions/index.ts';
import {
  type Errata,
  type ExecutedInstruction,
  type FlowEvent,
  flowErrorText,
  formatEvent,
  formatPacket,
  hasIpPayload,
  LastIp,
  PACKET_PSB,
  type Packet,
  PacketCursor,
} from '../../pt/index.ts';
import type { DecodingLog } from './decoding-log.ts';

const OFFSET_DIGITS = 8;
const ADDRESS_DIGITS = 20;
/** Columns of the bytes of a packet: those of a PSB. */
const BYTES_WIDTH = 16 * 3;
const NO_BYTES = new Uint8Array();

/** The lines of one queue. */
export class QueueLog {
  readonly #log: DecodingLog;
  readonly #name: string;
  readonly #errata: Errata;
  readonly #lastIp = new LastIp();
  #cursor = new PacketCursor(NO_BYTES);
  /** Nothing can be read behind the last packet: only another beginning leads on. */
  #isDamaged = false;
  /** Bytes before these. */
  #base = 0;
  #timeNs = 0;

  constructor(log: DecodingLog, name: string, errata: Errata) {
    this.#log = log;
    this.#name = name;
    this.#errata = errata;
  }

  begin(bytes: Uint8Array, base: number, isContinued: boolean): void {
    this.#base = base;
    this.#seek(bytes, 0);
    const gap = isContinued ? '' : ', behind a gap or at the beginning';
    this.line(`${bytes.length} bytes from ${base.toString(16)}${gap}`);
  }

  /** Decoding begins at a PSB, after it was looked for. */
  synchronized(bytes: Uint8Array, psb: number): void {
    const skipped = psb - this.#cursor.position;
    const left = skipped > 0 ? `, ${skipped} bytes after the last packet left out` : '';
    this.line(`synchronization point at ${this.#place(psb)}${left}`);
    this.#seek(bytes, psb);
  }

  /** All packets that have not been told, up to the one at an offset. */
  packets(last: number): void {
    const cursor = this.#cursor;
    while (cursor.position <= last && !this.#isDamaged) {
      const from = cursor.position;
      // What is wrong there is told as an error, when the decoder comes to it.
      if (cursor.next() <= 0) this.#isDamaged = true;
      else this.packet(cursor.bytes, from, cursor.packet);
    }
  }

  packet(bytes: Uint8Array, offset: number, packet: Readonly<Packet>): void {
    const hex = hexOf(bytes, offset, packet.size).padEnd(BYTES_WIDTH);
    let address = '';
    if (packet.kind === PACKET_PSB) this.#lastIp.reset();
    else if (hasIpPayload(packet.kind) && this.#lastIp.update(packet))
      address = `  ${toHex(this.#lastIp.lo >>> 0, this.#lastIp.hi >>> 0)}`;
    this.line(
      `  ${this.#place(offset).padStart(OFFSET_DIGITS, '0')}:  ${hex}  ${formatPacket(packet)}${address}`,
    );
  }

  instruction(instruction: Readonly<ExecutedInstruction>): void {
    const { section, ipLo, ipHi, length, kind, isTruncated, isSpeculative } = instruction;
    let hex = '';
    if (section !== null && !isTruncated)
      hex = hexOf(section.bytes, ((ipLo >>> 0) - (section.baseLo >>> 0)) >>> 0, length);
    const address = toHex(ipLo >>> 0, ipHi >>> 0).padStart(ADDRESS_DIGITS);
    const what = `${KIND_NAMES[kind] ?? ''}${isSpeculative ? ', in a transaction' : ''}`;
    this.line(`${address}:  ${hex.padEnd(BYTES_WIDTH)}  ${what}`);
  }

  event(event: Readonly<FlowEvent>): void {
    if (!event.isStatus) this.line(`[${formatEvent(event, { ip: true })}]`);
  }

  time(timeNs: number, tscLo: number, tscHi: number): void {
    if (timeNs === this.#timeNs) return;
    this.#timeNs = timeNs;
    const seconds = Math.floor(timeNs / 1e9);
    const rest = String(timeNs - seconds * 1e9).padStart(9, '0');
    this.line(`time ${seconds}.${rest}, tsc ${toHex(tscLo >>> 0, tscHi >>> 0)}`);
  }

  /** A FLOW_* code, met at an offset. */
  error(code: number, offset: number, ipLo: number, ipHi: number): void {
    const ip = ipLo === 0 && ipHi === 0 ? '' : `, address ${toHex(ipLo >>> 0, ipHi >>> 0)}`;
    this.errorLine(`error at ${this.#place(offset)}${ip}: ${flowErrorText(code)}`);
  }

  errorLine(text: string): void {
    this.#log.setHeading(this.#name);
    this.#log.error(text);
  }

  line(text: string): void {
    this.#log.setHeading(this.#name);
    this.#log.line(text);
  }

  #seek(bytes: Uint8Array, from: number): void {
    this.#cursor = new PacketCursor(bytes, { from, errata: this.#errata });
    this.#isDamaged = false;
    this.#lastIp.reset();
  }

  #place(offset: number): string {
    return (this.#base + offset).toString(16);
  }
}

function hexOf(bytes: Uint8Array, from: number, count: number): string {
  let text = '';
  for (let at = from; at < from + count; at++)
    text += `${at === from ? '' : ' '}${bytes[at]!.toString(16).padStart(2, '0')}`;
  return text;
}
