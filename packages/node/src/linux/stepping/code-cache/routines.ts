import type { Emitter } from './emitter.ts';
import { BUCKETS, JUMP_TO, SAVED_RAX, SAVED_RCX, SAVED_RDX, TARGET } from './zone-layout.ts';

/** The `reg` field of ModRM with an address at a distance. */
const RAX = 0x05;
const RCX = 0x0d;
const RDX = 0x15;
export type Saved = typeof RAX | typeof RCX | typeof RDX;
const SLOTS: Record<number, number> = { [RAX]: SAVED_RAX, [RCX]: SAVED_RCX, [RDX]: SAVED_RDX };

export function save(out: Emitter, zone: number, register: Saved): void {
  out.bytes(0x48, 0x89, register);
  out.distance(zone + SLOTS[register]!);
}

export function restore(out: Emitter, zone: number, register: Saved): void {
  out.bytes(0x48, 0x8b, register);
  out.distance(zone + SLOTS[register]!);
}

export const saveRax = (out: Emitter, zone: number): void => save(out, zone, RAX);
export const restoreRax = (out: Emitter, zone: number): void => restore(out, zone, RAX);

/** Adds one without a change of flags. */
export function countBlock(out: Emitter, zone: number, counter: number): number {
  saveRax(out, zone);
  out.bytes(0x48, 0x8b, RAX);
  out.distance(counter);
  // lea 1(%rax),%rax
  out.bytes(0x48, 0x8d, 0x40, 0x01);
  out.bytes(0x48, 0x89, RAX);
  out.distance(counter);
  const countedFrom = out.address;
  restoreRax(out, zone);
  return countedFrom;
}

/** Where a thread's log of blocks is: below 2 GiB, so that code of all zones names it by 32 bits. */
export interface LogPlace {
  /** Of the cursor: the distance from `end` to the next entry, negative. */
  cursor: number;
  end: number;
  /** What is written. */
  id: number;
}

/** Of the jump that asks whether the log is full. */
export const LOGGED_BYTES = 2;

/**
 * Writes the block's number into the log, without a change of flags. When the log is full, it
 * goes to the trap in front. Returns from where on the block is in the log; LOGGED_BYTES
 * behind it goes on what was trapped.
 */
export function logBlock(out: Emitter, zone: number, { cursor, end, id }: LogPlace): number {
  const full = out.address;
  out.bytes(0xcc);
  save(out, zone, RCX);
  // mov CURSOR,%rcx; movl $ID,END(%rcx); lea 4(%rcx),%rcx; mov %rcx,CURSOR; jrcxz full
  out.bytes(0x48, 0x8b, 0x0c, 0x25);
  out.int32(cursor);
  out.bytes(0xc7, 0x81);
  out.int32(end);
  out.int32(id);
  out.bytes(0x48, 0x8d, 0x49, 0x04);
  out.bytes(0x48, 0x89, 0x0c, 0x25);
  out.int32(cursor);
  const countedFrom = out.address;
  out.bytes(0xe3);
  out.setShort(out.openShort(), full);
  restore(out, zone, RCX);
  return countedFrom;
}

/**
 * Where all indirect branches and returns go: rax is the address in the program, the program's own rax is put
 * aside. Finds its block in the list of its bucket. No instruction here changes flags. Returns the address of
 * the trap for what was not found, with all registers as the program left them.
 */
export function emitLookup(out: Emitter, zone: number): number {
  save(out, zone, RCX);
  save(out, zone, RDX);
  out.bytes(0x48, 0x89, RAX);
  out.distance(zone + TARGET);
  // movzwl %ax,%edx; lea BUCKETS,%rcx; mov (%rcx,%rdx,8),%rdx; not %rax
  out.bytes(0x0f, 0xb7, 0xd0);
  out.bytes(0x48, 0x8d, RCX);
  out.distance(zone + BUCKETS);
  out.bytes(0x48, 0x8b, 0x14, 0xd1);
  out.bytes(0x48, 0xf7, 0xd0);
  const loop = out.address;
  // mov %rdx,%rcx; jrcxz miss
  out.bytes(0x48, 0x89, 0xd1, 0xe3);
  const toMiss = out.openShort();
  // mov (%rdx),%rcx; lea 1(%rcx,%rax),%rcx: 0 where the key is the address; jrcxz hit
  out.bytes(0x48, 0x8b, 0x0a);
  out.bytes(0x48, 0x8d, 0x4c, 0x01, 0x01, 0xe3);
  const toHit = out.openShort();
  // mov 16(%rdx),%rdx; jmp loop
  out.bytes(0x48, 0x8b, 0x52, 0x10, 0xeb);
  out.setShort(out.openShort(), loop);
  out.setShort(toHit, out.address);
  // mov 8(%rdx),%rdx; mov %rdx,JUMP_TO
  out.bytes(0x48, 0x8b, 0x52, 0x08);
  out.bytes(0x48, 0x89, RDX);
  out.distance(zone + JUMP_TO);
  restoreAll(out, zone);
  // jmp *JUMP_TO
  out.bytes(0xff, 0x25);
  out.distance(zone + JUMP_TO);
  out.setShort(toMiss, out.address);
  restoreAll(out, zone);
  const missed = out.address;
  out.bytes(0xcc);
  return missed;
}

function restoreAll(out: Emitter, zone: number): void {
  restore(out, zone, RAX);
  restore(out, zone, RCX);
  restore(out, zone, RDX);
}
