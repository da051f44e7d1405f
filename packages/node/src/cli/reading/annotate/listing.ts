/** A function as rows to show: instructions with shares, the source lines that they are of, arrows. */
import type { SourceFrame } from '@counterpoint/core/symbols';
import type { FunctionCode } from './code-of-binary.ts';
import type { DisassembledInstruction, Disassembler } from './disassembler.ts';
import type { FunctionSamples, Hits } from './function-samples.ts';
import { branchTarget } from './jumps.ts';

/** A row of the listing. */
export interface ListedInstruction extends Hits {
  readonly address: bigint;
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** As a person reads it: `jle 1200 <work+0x90>`. */
  readonly text: string;
  /** Share, in percent, of what `--percent-type` says. */
  percent: number;
  /** The functions that it is of, that inlined innermost first; empty where nothing is known. */
  readonly frames: readonly SourceFrame[];
  /** Index of the instruction that it jumps to, in this function; null: it does not. */
  jumpsTo: number | null;
}

/** A line of source code with the sum of its instructions. */
export interface ListedLine extends Hits {
  readonly file: string;
  readonly line: number;
  percent: number;
}

export interface Listing {
  readonly instructions: readonly ListedInstruction[];
  /** The hottest first. */
  readonly lines: readonly ListedLine[];
  /** Samples that fell behind the code that could be read. */
  readonly outside: Hits;
}

export type PercentType = 'local-period' | 'local-hits' | 'global-period' | 'global-hits';

/** What shares are of: the function's own sum, or everything's. */
export function shareOf(percentType: PercentType, own: Hits, all: Hits): (hits: Hits) => number {
  const total = percentType.startsWith('local') ? own : all;
  const of = percentType.endsWith('hits')
    ? ({ samples }: Hits) => samples / total.samples
    : ({ period }: Hits) => period / total.period;
  return (hits) => (hits.samples === 0 ? 0 : 100 * of(hits));
}

export async function listFunction(
  one: FunctionSamples,
  code: FunctionCode,
  disassembler: Disassembler,
  share: (hits: Hits) => number,
): Promise<Listing> {
  const rows = disassembler.disassemble(code.bytes, code.address);
  const frames = await code.sourcesAt(rows.map(({ offset }) => offset));
  const instructions = rows.map((row, index) => instructionOf(row, code, frames[index] ?? []));
  const outside = { samples: 0, period: 0 };
  const starts = rows.map(({ offset }) => offset);
  for (const [offset, hits] of one.byOffset) {
    // A sample that is not at the beginning of an instruction is of the one around it.
    const place = offset < code.bytes.length ? instructions[lastNotAfter(starts, offset)] : undefined;
    const sum = place ?? outside;
    sum.samples += hits.samples;
    sum.period += hits.period;
  }
  const byAddress = new Map(instructions.map(({ address }, index) => [address, index]));
  for (const [index, row] of rows.entries()) {
    const target = branchTarget(row);
    const instruction = instructions[index]!;
    instruction.percent = share(instruction);
    if (target !== null && !target.isCall) instruction.jumpsTo = byAddress.get(target.address) ?? null;
  }
  return { instructions, lines: linesOf(instructions, share), outside };
}

function instructionOf(
  row: DisassembledInstruction,
  code: FunctionCode,
  frames: readonly SourceFrame[],
): ListedInstruction {
  const { offset, size, mnemonic } = row;
  const target = branchTarget(row);
  const operands = target === null ? row.operands : `${target.before}${targetText(target.address, code)}`;
  return {
    address: code.address + BigInt(offset),
    offset,
    bytes: code.bytes.subarray(offset, offset + size),
    text: `${mnemonic.padEnd(6)} ${operands}`.trimEnd(),
    frames,
    jumpsTo: null,
    samples: 0,
    period: 0,
    percent: 0,
  };
}

const LONGEST_OWN_NAME = 32;

function targetText(address: bigint, code: FunctionCode): string {
  const name = code.nameAt(address);
  if (name === null) return address.toString(16);
  const distance = address - code.address;
  const isInside = distance >= 0n && distance < BigInt(code.bytes.length);
  // Of the function itself the distance alone tells enough, where its name fills the line.
  const shown = isInside && name.length > LONGEST_OWN_NAME ? `+0x${distance.toString(16)}` : name;
  return `${address.toString(16)} <${shown}>`;
}

function linesOf(instructions: readonly ListedInstruction[], share: (hits: Hits) => number): ListedLine[] {
  const lines = new Map<string, ListedLine>();
  for (const { frames, samples, period } of instructions) {
    const frame = frames[0];
    if (frame === undefined || frame.line === 0) continue;
    const key = `${frame.line} ${frame.file}`;
    let line = lines.get(key);
    if (line === undefined)
      lines.set(key, (line = { file: frame.file, line: frame.line, samples: 0, period: 0, percent: 0 }));
    line.samples += samples;
    line.period += period;
  }
  for (const line of lines.values()) line.percent = share(line);
  return [...lines.values()].sort((a, b) => b.period - a.period || a.line - b.line);
}

function lastNotAfter(values: readonly number[], value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
