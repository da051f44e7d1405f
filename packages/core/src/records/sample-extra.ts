/**
 * What a hardware trace knows of a sample and the record has no field for. It stands behind the sample's own
 * fields, for who made the sample and who prints it; readers of samples leave out what follows the fields:
 *
 *     0 flags u32 | 4 instruction's length u8 | 5 its bytes 15 | 20 depth of calls u32
 *     24 instructions f64 | 32 cycles f64 | 40 zero 8
 */
export const EXTRA_BYTES = 48;

const INSTRUCTION_BYTES = 15;

export interface SampleExtra {
  /** PERF_IP_FLAG_*. */
  flags: number;
  /** The bytes of the instruction at the sample's place; empty where they are not known. */
  instruction: Uint8Array;
  /** Calls that are open. */
  depth: number;
  /** Since the last sample that told of cycles; 0 where this one does not. */
  instructions: number;
  cycles: number;
}

/** Of `instruction`, its first `instructionBytes` count. */
export type SampleExtraFacts = Omit<SampleExtra, 'depth'> & { instructionBytes: number };

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

/** What stands behind a sample's fields at `at`; null where it is not one of these. */
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
