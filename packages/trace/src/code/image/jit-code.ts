import type { JitDump } from '@counterpoint/core/jit';
import type { CodeImage } from './code-image.ts';
import { EVERY_ADDRESS_SPACE } from './layer.ts';

/** Whose code a jitdump has, and how its clock is turned into the trace's. */
export interface JitPlacement {
  /** The process, by the caller's number. Default: every address space sees the code. */
  addressSpace?: number;
  /** From the dump's clock to the trace's; default: they are the same. */
  toTime?: (dumpTime: number) => number;
}

/**
 * The code of a jitdump, each from the time it was written on: later code at the same place replaces
 * it. What moved is at its new place too; the old one stays until something else is put there. Returns
 * the number of pieces of code.
 */
export function addJitCode(image: CodeImage, dump: JitDump, placement: JitPlacement = {}): number {
  const { addressSpace = EVERY_ADDRESS_SPACE, toTime = (time) => time } = placement;
  const known = new Map<bigint, { name: string; bytes: Uint8Array }>();
  let count = 0;
  const add = (address: bigint, time: number, code: { name: string; bytes: Uint8Array }): void => {
    image.addSection({ name: code.name, address, bytes: code.bytes, from: toTime(time), addressSpace });
    count++;
  };
  for (const record of dump.records) {
    if (record.kind === 'load' && record.code.length > 0) {
      const code = { name: record.name, bytes: record.code };
      known.set(record.codeIndex, code);
      add(record.address, record.time, code);
    } else if (record.kind === 'move') {
      const code = known.get(record.codeIndex);
      if (code !== undefined) add(record.newAddress, record.time, code);
    }
  }
  return count;
}
