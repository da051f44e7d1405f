/**
 * What a hardware trace tells about a sample, and the record has no field for. It follows the sample's own
 * fields. The code that makes the sample writes it, and the code that prints the sample reads it. Other
 * readers of samples ignore what follows the fields:
 *
 *     0 flags u32 | 4 instruction's length u8 | 5 its bytes 15 | 20 depth of calls u32
 *     24 instructions f64 | 32 cycles f64 | 40 zero 8
 */
export const EXTRA_BYTES = 48;

const INSTRUCTION_BYTES = 15;

/** What follows the fields of a sample that was made from a hardware trace. */
export interface SampleExtra {
  /** What the branch is: PERF_IP_FLAG_* bits. */
  flags: number;
  /** The bytes of the instruction at the sample's address. Empty if they are not known. */
  instruction: Uint8Array;
  /** How many calls are open at the sample. */
  depth: number;
  /** Instructions since the last sample with cycles. 0 if this sample has none. */
  instructions: number;
  /** Cycles since the last sample with cycles. 0 if this sample has none. */
  cycles: number;
}

/** What `writeSampleExtra` writes. Only the first `instructionBytes` of `instruction` count, at most 15. */
export type SampleExtraFacts = Omit<SampleExtra, 'depth'> & { instructionBytes: number };

/** Writes the EXTRA_BYTES of a sample at `at`. Throws RangeError if the view ends before them. */
export function writeSampleExtra(
  view: DataView,
  at: number,
  facts: Readonly<SampleExtraFacts>,
  depth: number,
  littleEndian: boolean,
): void {
  const { instruction, instructionBytes } = facts;
  view.setUint32(at, facts.flags, littleEndian);
  view.setUint8(at + 4, instructionBytes);
  for (let byte = 0; byte < INSTRUCTION_BYTES; byte++)
    view.setUint8(at + 5 + byte, byte < instructionBytes ? instruction[byte]! : 0);
  view.setUint32(at + 20, depth, littleEndian);
  view.setFloat64(at + 24, facts.instructions, littleEndian);
  view.setFloat64(at + 32, facts.cycles, littleEndian);
  view.setFloat64(at + 40, 0, littleEndian);
}

/**
 * Reads what follows a sample's fields, at `at`. Null if there are fewer than EXTRA_BYTES. `instruction` is a
 * view, not a copy.
 */
export function readSampleExtra(
  view: DataView,
  at: number,
  end: number,
  littleEndian: boolean,
): SampleExtra | null {
  if (end - at !== EXTRA_BYTES) return null;
  const length = Math.min(INSTRUCTION_BYTES, view.getUint8(at + 4));
  return {
    flags: view.getUint32(at, littleEndian),
    instruction: new Uint8Array(view.buffer, view.byteOffset + at + 5, length),
    depth: view.getUint32(at + 20, littleEndian),
    instructions: view.getFloat64(at + 24, littleEndian),
    cycles: view.getFloat64(at + 32, littleEndian),
  };
}
