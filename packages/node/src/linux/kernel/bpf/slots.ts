/**
 * Eight bytes of a program, taken apart and put together (the picture is in
 * core/format/abi/bpf-instructions.ts).
 */
import { BPF_DW, BPF_IMM, BPF_LD, BPF_SLOT_SIZE } from '@counterpoint/core/abi';

export interface Slot {
  readonly opcode: number;
  readonly destination: number;
  readonly source: number;
  /** Signed, 16 bits. */
  readonly offset: number;
  /** Signed, 32 bits. */
  readonly immediate: number;
}

/** The one instruction of two slots: the second holds the high half of its immediate. */
export const WIDE_IMMEDIATE: number = BPF_LD | BPF_DW | BPF_IMM;

export function encodeSlots(slots: readonly Slot[]): Uint8Array {
  const bytes = new Uint8Array(slots.length * BPF_SLOT_SIZE);
  const view = new DataView(bytes.buffer);
  slots.forEach((slot, index) => {
    const at = index * BPF_SLOT_SIZE;
    view.setUint8(at, slot.opcode);
    view.setUint8(at + 1, (slot.source << 4) | slot.destination);
    view.setInt16(at + 2, slot.offset, true);
    view.setInt32(at + 4, slot.immediate, true);
  });
  return bytes;
}

/** Every slot of a program; bytes after the last whole one are left out. */
export function decodeSlots(bytes: Uint8Array): Slot[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / BPF_SLOT_SIZE) }, (_, index) => {
    const at = index * BPF_SLOT_SIZE;
    const registers = view.getUint8(at + 1);
    return {
      opcode: view.getUint8(at),
      destination: registers & 0x0f,
      source: registers >>> 4,
      offset: view.getInt16(at + 2, true),
      immediate: view.getInt32(at + 4, true),
    };
  });
}
