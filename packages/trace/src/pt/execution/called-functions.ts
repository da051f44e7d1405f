import { hiOf, loOf } from '@counterpoint/core/base';
import { decodeInstruction, Instruction, KIND_CALL, MODE_64 } from '../../code/instructions/index.ts';

/**
 * Where the direct calls in a stretch of 64-bit code lead that stay within it, one for each call: the entries
 * of a `RandomWalk`, low and high half in turn.
 */
export function calledFunctions(code: Uint8Array, address: bigint): Int32Array {
  const entries: number[] = [];
  const instruction = new Instruction();
  for (let at = 0; at < code.length; ) {
    const size = decodeInstruction(code, at, code.length, MODE_64, instruction);
    at += Math.max(1, size);
    const target = at + instruction.displacement;
    if (size <= 0 || instruction.kind !== KIND_CALL || target < 0 || target >= code.length) continue;
    const entry = address + BigInt(target);
    entries.push(loOf(entry), hiOf(entry));
  }
  return Int32Array.from(entries);
}
