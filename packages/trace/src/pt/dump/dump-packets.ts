/**
 * A trace, one line a packet:
 *
 *   offset            raw bytes                         name       payload                   what is tracked
 *   0000000000000018  51a0144000                        tip.pge    2: ????????004014a0       ip   00000000004014a0
 *
 * What cannot be decoded is a line of its own, `[offset: what: why]`, and the dump goes on at the next PSB.
 */
import { checkArgument, toBigInt, toFloat } from '@counterpoint/core/base';
import { CFE_NAMES, EVD_NAMES, execModeName, formatPayload, hex } from '../packets/format-packet.ts';
import { LastIp } from '../packets/last-ip.ts';
import type { Packet } from '../packets/packet.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import {
  hasIpPayload,
  PACKET_CBR,
  PACKET_CFE,
  PACKET_CYC,
  PACKET_EVD,
  PACKET_MODE_EXEC,
  PACKET_MTC,
  PACKET_NAMES,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TSC,
  PACKET_VMCS,
} from '../packets/packet-kinds.ts';
import { BAD_OPCODE, NEED_MORE } from '../packets/read-packet.ts';
import { requireBytes } from '../packets/require-bytes.ts';
import { RATIO_ONE, TimeCalibration } from '../time/time-calibration.ts';
import type { TimeSettings } from '../time/time-settings.ts';
import {
  NO_TIME_SETTINGS,
  TIME_BAD_CONTEXT,
  TIME_BAD_PACKET,
  TIME_NEEDS_CPUID,
  TIME_UNKNOWN,
} from '../time/time-settings.ts';
import { TscEstimate } from '../time/tsc-estimate.ts';

/** Records of another source that belong between the packets, by time. */
export interface DumpSideband {
  /**
   * The lines of the records that were not given yet, up to this TSC (two unsigned
   * halves). Without a TSC: all.
   */
  linesUpTo(tscLo?: number, tscHi?: number): Iterable<string>;
}

/**
 * What a dump shows. Every option may be missing. Without options, each packet is a line with
 * its offset, name and payload.
 */
export interface DumpOptions {
  /** Clocks and errata of the processor, for estimating time. Default: nothing is known about them. */
  readonly settings?: TimeSettings;
  /** Begin at the first byte, PSB or not. */
  readonly noSync?: boolean;
  /** No packets: only errors, and records of `sideband`. */
  readonly quiet?: boolean;
  /** Leave the offset out. */
  readonly noOffset?: boolean;
  /** Leave PAD out. */
  readonly noPad?: boolean;
  /** Leave TSC, TMA, MTC, CYC and CBR out; they are still used for time. */
  readonly noTiming?: boolean;
  /** Neither show CYC nor use it for time. */
  readonly noCyc?: boolean;
  /** Show the bytes of each packet. */
  readonly raw?: boolean;
  /** After a compressed address, show the whole one. */
  readonly lastIp?: boolean;
  /** After MODE.Exec, show the width of the code. */
  readonly execMode?: boolean;
  /** Show the estimated TSC, or the ratio of TSC ticks to cycles. */
  readonly track?: 'time' | 'calibration';
  /** Show tracked values as differences from the line before. */
  readonly delta?: boolean;
  /** Use CYC for time only if the ratio of ticks to cycles is known: do not learn it from the trace. */
  readonly noCalibration?: boolean;
  /** Time may be relative: no TSC is expected. */
  readonly noWallClock?: boolean;
  /** Keep the ratio of ticks to cycles when packets are lost, instead of learning it anew. */
  readonly keepCalibrationOnOverflow?: boolean;
  /** Lines of other records, put between the packets by time: `sidebandLines`. */
  readonly sideband?: DumpSideband;
  /** Each line is a JSON object. The last one has the sums. */
  readonly json?: boolean;
  /** Called now and then with the progress. */
  readonly onProgress?: (doneBytes: number) => void;
}

/** What a dump went through. */
export interface DumpResult {
  /** Packets that were read, shown or not. */
  packets: number;
  /** Places where decoding had to look for the next PSB. */
  errors: number;
  /** Bytes between damage and the next PSB. Bytes before the first PSB are not counted. */
  skippedBytes: number;
}

const COLUMN_OFFSET = 17;
const COLUMN_RAW = 33;
const COLUMN_NAME = 10;
const COLUMN_PAYLOAD = 25;
const COLUMN_TRACKED_NAME = 5;
const UNAVAILABLE = '<unavailable>';
const PROGRESS_PACKETS = 0xffff;

const ERROR_TEXTS = new Map([
  [TIME_UNKNOWN, 'no timing information'],
  [TIME_NEEDS_CPUID, 'bad configuration'],
  [TIME_BAD_PACKET, 'unknown packet'],
  [TIME_BAD_CONTEXT, 'unexpected packet context'],
]);

/**
 * Writes a trace as text: `line` gets a line for each packet. Damage has a line of its own, and the
 * dump continues at the next PSB.
 */
export function dumpPackets(
  bytes: Uint8Array,
  options: DumpOptions,
  line: (text: string) => void,
): DumpResult {
  requireBytes(bytes);
  checkArgument({}, 'dumpPackets()', 'options', options, 'an object');
  checkArgument(typeof line === 'function', 'dumpPackets()', 'line', line, 'a function that takes each line');
  const dump = new PacketDump(bytes, options, line);
  return dump.run();
}

class PacketDump {
  readonly #bytes: Uint8Array;
  readonly #options: DumpOptions;
  readonly #line: (text: string) => void;
  readonly #cursor: PacketCursor;
  readonly #lastIp = new LastIp();
  readonly #calibration: TimeCalibration;
  readonly #estimate: TscEstimate;
  readonly #tracksTime: boolean;
  #inHeader = false;
  /** The last TSC and ratio shown, for differences. */
  #shownTsc = 0n;
  #shownRatio = 0;
  #packets = 0;

  constructor(bytes: Uint8Array, options: DumpOptions, line: (text: string) => void) {
    const settings = options.settings ?? NO_TIME_SETTINGS;
    this.#bytes = bytes;
    this.#options = options;
    this.#line = line;
    this.#cursor = new PacketCursor(bytes, { errata: settings.errata });
    this.#calibration = new TimeCalibration(settings);
    this.#estimate = new TscEstimate(settings);
    this.#tracksTime = options.track !== undefined || options.sideband !== undefined;
  }

  run(): DumpResult {
    const cursor = this.#cursor;
    let errors = 0;
    const isThere = this.#options.noSync === true || cursor.resynchronize();
    const skippedAtFirst = cursor.skippedBytes;
    while (isThere) {
      const size = cursor.next();
      if (size > 0) {
        this.#packet(cursor.offset, cursor.packet);
        continue;
      }
      if (size === NEED_MORE) break;
      errors++;
      this.#error('error decoding packet', size === BAD_OPCODE ? 'unknown opcode' : 'unknown packet');
      if (!cursor.resynchronize()) break;
      this.#reset();
    }
    for (const text of this.#options.sideband?.linesUpTo() ?? []) this.#sideband(text);
    const result = { packets: this.#packets, errors, skippedBytes: cursor.skippedBytes - skippedAtFirst };
    if (this.#options.json === true) this.#line(JSON.stringify({ type: 'end', ...result }));
    return result;
  }

  #reset(): void {
    this.#lastIp.reset();
    this.#calibration.reset();
    this.#estimate.reset();
    this.#inHeader = false;
    this.#shownTsc = 0n;
    this.#shownRatio = 0;
  }

  #packet(offset: number, packet: Packet): void {
    const options = this.#options;
    if ((++this.#packets & PROGRESS_PACKETS) === 0) options.onProgress?.(offset);
    const tracked = this.#track(packet);
    const { kind } = packet;
    if (options.quiet === true) return;
    if (options.noPad === true && kind === PACKET_PAD) return;
    if (options.noCyc === true && kind === PACKET_CYC) return;
    if (options.noTiming === true && isTiming(kind)) return;

    if (options.json === true) {
      this.#line(JSON.stringify(packetJson(offset, packet, tracked)));
      return;
    }
    let text = options.noOffset === true ? '' : `${hex64(offset).padEnd(COLUMN_OFFSET)} `;
    if (options.raw === true) text += `${this.#rawBytes(offset, packet.size).padEnd(COLUMN_RAW)} `;
    const payload = formatPayload(packet);
    const name = PACKET_NAMES[kind]!;
    text += payload === '' ? name : `${name.padEnd(COLUMN_NAME)} ${payload}`;
    if (tracked !== null) {
      const padding =
        payload === '' ? ` ${' '.repeat(COLUMN_PAYLOAD)}` : ' '.repeat(COLUMN_PAYLOAD - payload.length);
      text += `${padding} ${tracked[0].padEnd(COLUMN_TRACKED_NAME)}${tracked[1]}`;
    }
    this.#line(text);
  }

  /** What is tracked over packets: its name and its value here. */
  #track(packet: Packet): readonly [string, string] | null {
    const { kind } = packet;
    if (kind === PACKET_TNT8 || kind === PACKET_TNT64) return null;
    if (hasIpPayload(kind)) return this.#options.lastIp === true ? ['ip', this.#trackIp(packet)] : null;
    switch (kind) {
      case PACKET_PSB:
        this.#lastIp.reset();
        this.#calibration.psb();
        this.#inHeader = true;
        return null;
      case PACKET_PSBEND:
        this.#inHeader = false;
        return null;
      case PACKET_OVF:
        if (this.#options.keepCalibrationOnOverflow === true) this.#calibration.overflow();
        else this.#calibration.reset();
        return null;
      case PACKET_PIP:
        return ['cr3', hex(packet.hi, 8) + hex(packet.lo, 8)];
      case PACKET_VMCS:
        return ['vmcs', hex(packet.hi, 8) + hex(packet.lo, 8)];
      case PACKET_CFE:
        return named(CFE_NAMES[packet.type]);
      case PACKET_EVD:
        return named(EVD_NAMES[packet.type]);
      case PACKET_MODE_EXEC:
        return this.#options.execMode === true ? ['em', execModeName(packet.flags)] : null;
      default:
        return this.#tracksTime && isTiming(kind) ? this.#trackTime(packet) : null;
    }
  }

  #trackIp(packet: Packet): string {
    return this.#lastIp.update(packet) ? hex(this.#lastIp.hi, 8) + hex(this.#lastIp.lo, 8) : '<suppressed>';
  }

  #trackTime(packet: Packet): readonly [string, string] | null {
    const { kind } = packet;
    if (kind === PACKET_CYC && this.#options.noCyc === true) return null;
    const movesTime = kind !== PACKET_CBR;
    const movesCalibration = kind !== PACKET_TMA && kind !== PACKET_CYC;
    this.#updateClocks(packet);
    let tracked: readonly [string, string] | null = null;
    if (this.#options.track === 'calibration' && movesCalibration) tracked = ['fcr', this.#ratioText()];
    if (this.#options.track === 'time' && movesTime) tracked = ['tsc', this.#tscText()];
    const { tscLo, tscHi } = this.#estimate;
    for (const text of this.#options.sideband?.linesUpTo(tscLo, tscHi) ?? []) this.#sideband(text);
    return tracked;
  }

  #updateClocks(packet: Packet): void {
    const { kind, lo, hi } = packet;
    const calibrates = this.#options.noCalibration !== true;
    const calibrated = (code: number) => this.#answer('error calibrating time', code);
    const updated = (code: number) => this.#answer('error updating time', code);
    if (kind === PACKET_TSC) {
      if (calibrates) calibrated(this.#calibration.tsc(toFloat(lo >>> 0, hi >>> 0), this.#inHeader));
      updated(this.#estimate.tsc(lo, hi));
    } else if (kind === PACKET_CBR) {
      if (calibrates) calibrated(this.#calibration.cbr(lo, this.#inHeader));
      updated(this.#estimate.cbr(lo));
    } else if (kind === PACKET_TMA) {
      updated(this.#estimate.tma(lo, packet.extra));
    } else if (kind === PACKET_MTC) {
      if (calibrates) calibrated(this.#calibration.mtc(lo));
      updated(this.#estimate.mtc(lo));
    } else {
      const cycles = toFloat(lo >>> 0, hi >>> 0);
      let ratio = 0;
      if (calibrates) {
        ratio = Math.max(0, this.#calibration.ratio());
        this.#answer('calibration error', this.#calibration.ratio());
        this.#calibration.cyc(cycles);
      }
      const code = this.#estimate.cyc(cycles, ratio);
      if (code < 0) updated(code);
      else if (ratio === 0) this.#error('error updating time', 'no calibration');
    }
  }

  #tscText(): string {
    const { tscLo, tscHi, hasTsc } = this.#estimate;
    if (!hasTsc && this.#options.noWallClock !== true) {
      this.#answer('error printing time', TIME_UNKNOWN);
      return UNAVAILABLE;
    }
    if (this.#options.delta !== true) return hex(tscHi, 8) + hex(tscLo, 8);
    const now = toBigInt(tscLo, tscHi);
    const delta = now - this.#shownTsc;
    this.#shownTsc = now;
    return delta < 0n ? `-${(-delta).toString(16)}` : `+${delta.toString(16)}`;
  }

  #ratioText(): string {
    const ratio = this.#calibration.ratio();
    if (ratio < 0) {
      this.#answer('error printing time', ratio);
      return UNAVAILABLE;
    }
    if (this.#options.delta !== true) return thousandths(ratio);
    const delta = ratio - this.#shownRatio;
    this.#shownRatio = ratio;
    return `${delta < 0 ? '-' : '+'}${thousandths(Math.abs(delta))}`;
  }

  #rawBytes(offset: number, size: number): string {
    let text = '';
    for (let at = offset; at < offset + size; at++) text += hex(this.#bytes[at]!, 2);
    return text;
  }

  #answer(what: string, code: number): void {
    if (code < 0) this.#error(what, ERROR_TEXTS.get(code)!);
  }

  #sideband(text: string): void {
    this.#line(this.#options.json === true ? JSON.stringify({ type: 'record', text }) : text);
  }

  #error(what: string, why: string): void {
    const { offset } = this.#cursor;
    if (this.#options.json === true) this.#line(JSON.stringify({ type: 'error', offset, what, why }));
    else this.#line(`[${offset.toString(16)}: ${what}: ${why}]`);
  }
}

function packetJson(offset: number, packet: Packet, tracked: readonly [string, string] | null) {
  const payload = formatPayload(packet);
  return {
    type: 'packet',
    offset,
    size: packet.size,
    name: PACKET_NAMES[packet.kind]!,
    ...(payload === '' ? {} : { payload }),
    ...(tracked === null ? {} : { tracked: { [tracked[0]]: tracked[1] } }),
  };
}

function isTiming(kind: number): boolean {
  return (
    kind === PACKET_CYC ||
    kind === PACKET_MTC ||
    kind === PACKET_TSC ||
    kind === PACKET_TMA ||
    kind === PACKET_CBR
  );
}

function named(name: string | undefined): readonly [string, string] {
  return ['type', name ?? 'unknown'];
}

/** A ratio with three decimals. As printf does, it rounds halves to the even digit. */
function thousandths(ratio: number): string {
  const scaled = (ratio * 1000) / RATIO_ONE;
  const floor = Math.floor(scaled);
  const isUp = scaled - floor > 0.5 || (scaled - floor === 0.5 && floor % 2 === 1);
  return ((isUp ? floor + 1 : floor) / 1000).toFixed(3);
}

function hex64(value: number): string {
  return value.toString(16).padStart(16, '0');
}
