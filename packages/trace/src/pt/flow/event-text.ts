/** Events as one line of text each, in the words of Intel's own tools. */

import { MODE_16, MODE_32, MODE_64 } from '../../code/instructions/index.ts';
import { PT_PWRX_HW, PT_PWRX_INTERRUPT, PT_PWRX_STORE } from '../packets/opcodes.ts';
import { FLAG_NON_ROOT } from '../packets/packet.ts';
import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';
import { hex64, hex64Short } from './hex.ts';

/** What an event's text shows beside what happened. */
export interface EventTextOptions {
  /** Its TSC, where it has one. */
  readonly time?: boolean;
  /** Its addresses, where its kind has any. */
  readonly ip?: boolean;
}

const MODE_NAMES: ReadonlyMap<number, string> = new Map([
  [MODE_16, '16-bit'],
  [MODE_32, '32-bit'],
  [MODE_64, '64-bit'],
]);

/** An event as one line: `enabled, ip: 0000000000401000`, without brackets. */
export function formatEvent(event: Readonly<FlowEvent>, options: EventTextOptions = {}): string {
  const time = options.time && event.hasTime ? `${hex64(event.timeLo, event.timeHi)}  ` : '';
  return `${time}${describe(event)}${options.ip ? places(event) : ''}`;
}

function describe(event: Readonly<FlowEvent>): string {
  const { lo, hi, detail, flags, vector } = event;
  switch (event.kind) {
    case ev.EVENT_ENABLED:
      return event.isResumed ? 'resumed' : 'enabled';
    case ev.EVENT_DISABLED:
    case ev.EVENT_ASYNC_DISABLED:
      return 'disabled';
    case ev.EVENT_ASYNC_BRANCH:
      return 'interrupt';
    case ev.EVENT_PAGING:
    case ev.EVENT_ASYNC_PAGING:
      return `paging, cr3: ${hex64(lo, hi)}${(flags & FLAG_NON_ROOT) !== 0 ? ', nr' : ''}`;
    case ev.EVENT_VMCS:
    case ev.EVENT_ASYNC_VMCS:
      return `vmcs, base: ${hex64(lo, hi)}`;
    case ev.EVENT_OVERFLOW:
      return 'overflow';
    case ev.EVENT_EXEC_MODE:
      return `exec mode: ${MODE_NAMES.get(detail) ?? '<unknown>'}`;
    case ev.EVENT_TSX:
      if ((detail & ev.TSX_ABORTED) !== 0) return 'aborted';
      return (detail & ev.TSX_IN_TRANSACTION) !== 0 ? 'begin transaction' : 'committed';
    case ev.EVENT_STOP:
      return 'stopped';
    case ev.EVENT_EXSTOP:
      return 'exstop';
    case ev.EVENT_MWAIT:
      return `mwait ${(lo >>> 0).toString(16)} ${(hi >>> 0).toString(16)}`;
    case ev.EVENT_PWRE:
      // State 0 is C1; 15, what C0 would be, wraps.
      return `pwre c${(detail + 1) & 15}.${(event.count + 1) & 15}${(flags & ev.FLAG_BY_HARDWARE) !== 0 ? ' hw' : ''}`;
    case ev.EVENT_PWRX: {
      const reasons =
        ((flags & PT_PWRX_INTERRUPT) !== 0 ? 'int: ' : '') +
        ((flags & PT_PWRX_STORE) !== 0 ? 'st: ' : '') +
        ((flags & PT_PWRX_HW) !== 0 ? 'hw: ' : '');
      return `pwrx ${reasons}c${(detail + 1) & 15} (c${(event.count + 1) & 15})`;
    }
    case ev.EVENT_PTWRITE:
      return `ptwrite: ${hex64Short(lo, hi)}`;
    case ev.EVENT_TICK:
      return 'tick';
    case ev.EVENT_CBR:
      return `cbr: ${detail.toString(16)}`;
    case ev.EVENT_MNT:
      return `mnt: ${hex64Short(lo, hi)}`;
    case ev.EVENT_IFLAGS:
      return `interrupts ${detail !== 0 ? 'enabled' : 'disabled'}`;
    case ev.EVENT_INTERRUPT:
      return `interrupt ${vector}${(flags & ev.FLAG_HAS_CR2) !== 0 ? `, cr2: ${hex64(lo, hi)}` : ''}`;
    case ev.EVENT_SOFTWARE_INTERRUPT:
      return `swintr ${vector}`;
    case ev.EVENT_SYSTEM_CALL:
      return 'syscall';
    case ev.EVENT_IRET:
      return 'iret';
    case ev.EVENT_SMI:
      return 'smi';
    case ev.EVENT_RSM:
      return 'rsm';
    case ev.EVENT_SIPI:
      return `sipi: ${vector.toString(16)}`;
    case ev.EVENT_INIT:
      return 'init';
    case ev.EVENT_VMENTRY:
      return 'vmentry';
    case ev.EVENT_VMEXIT:
      return (
        'vmexit' +
        ((flags & ev.FLAG_HAS_VECTOR) !== 0 ? `, intr: ${vector}` : '') +
        ((flags & ev.FLAG_HAS_VMXR) !== 0 ? `, vmxr: ${hex64(lo, hi)}` : '') +
        ((flags & ev.FLAG_HAS_VMXQ) !== 0 ? `, vmxq: ${hex64(event.lo2, event.hi2)}` : '')
      );
    case ev.EVENT_SHUTDOWN:
      return 'shutdown';
    case ev.EVENT_UINTR:
      return `uintr ${vector}`;
    case ev.EVENT_UIRET:
      return 'uiret';
    case ev.EVENT_TRIGGER:
      return `trig ${vector.toString(16).padStart(2, '0')}${(flags & ev.FLAG_SEVERAL) !== 0 ? ', mult' : ''}`;
    case ev.EVENT_BLOCK_BEGIN:
      return `pebs begin: ${detail.toString(16)}`;
    case ev.EVENT_BLOCK_ITEM:
      return `pebs item ${detail.toString(16)}: ${hex64Short(lo, hi)}`;
    case ev.EVENT_BLOCK_END:
      return 'pebs end';
    default:
      return `event ${event.kind}`;
  }
}

/** Kinds that are not given with an address, whatever they have. */
const WITHOUT_IP = new Set([
  ev.EVENT_PAGING,
  ev.EVENT_VMCS,
  ev.EVENT_STOP,
  ev.EVENT_PWRE,
  ev.EVENT_PWRX,
  ev.EVENT_CBR,
  ev.EVENT_MNT,
  ev.EVENT_SIPI,
  ev.EVENT_BLOCK_BEGIN,
  ev.EVENT_BLOCK_ITEM,
]);

function places(event: Readonly<FlowEvent>): string {
  const ip = hex64(event.ipLo, event.ipHi);
  const to = event.isIpSuppressed ? '' : hex64(event.toLo, event.toHi);
  switch (event.kind) {
    case ev.EVENT_ASYNC_DISABLED:
      return `, at: ${ip}${to === '' ? '' : `, ip: ${to}`}`;
    case ev.EVENT_ASYNC_BRANCH:
      return `, from: ${ip}${to === '' ? '' : `, to: ${to}`}`;
    case ev.EVENT_ASYNC_PAGING:
    case ev.EVENT_ASYNC_VMCS:
      return event.isCutOff ? '' : `, ip: ${ip}`;
    default:
      return event.isIpSuppressed || WITHOUT_IP.has(event.kind) ? '' : `, ip: ${ip}`;
  }
}
