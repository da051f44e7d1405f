/** Code sections of a trace program: `code ADDRESS [64|32|16]`, then `[label:] mnemonic [operand]`. */

import { nearestNames } from '@counterpoint/core/base';
import { INSTRUCTIONS, operandBytes } from './instructions.ts';
import type { Labels } from './operands.ts';
import { evaluate } from './operands.ts';

/** Width of the code, in bits. */
export type CodeMode = 64 | 32 | 16;

/** One `code` section of a trace program, assembled. */
export interface CodeBytes {
  /** Virtual address of the first byte. */
  readonly address: bigint;
  /** The code: `image.addSection({ name, address, bytes })` takes it. */
  readonly bytes: Uint8Array;
  /** Width of the code, in bits. */
  readonly mode: CodeMode;
}

export interface CodeStatement {
  readonly line: number;
  readonly label: string | null;
  /** Empty for a label alone. */
  readonly mnemonic: string;
  readonly operand: string;
}

export interface CodeSource {
  readonly address: bigint;
  readonly mode: CodeMode;
  readonly statements: readonly CodeStatement[];
}

/** Says what is wrong and where; never returns. */
export type Complain = (line: number, message: string, remedy?: string) => never;

const BYTES_WORD = 'db';

/** First pass: where each label is. Sizes do not depend on operands. */
export function placeLabels(source: CodeSource, labels: Map<string, bigint>, complain: Complain): void {
  let address = source.address;
  for (const statement of source.statements) {
    if (statement.label !== null) {
      if (labels.has(statement.label))
        complain(statement.line, `the label '${statement.label}' is there twice`);
      labels.set(statement.label, address);
    }
    address += BigInt(sizeOf(statement, source.mode, complain));
  }
}

/** Second pass: the bytes. */
export function assemble(source: CodeSource, labels: Labels, complain: Complain): CodeBytes {
  const bytes: number[] = [];
  for (const statement of source.statements) {
    if (statement.mnemonic === '') continue;
    if (statement.mnemonic === BYTES_WORD) {
      bytes.push(...hexBytes(statement, complain));
      continue;
    }
    const { opcode, operand } = INSTRUCTIONS.get(statement.mnemonic)!;
    const size = opcode.length + operandBytes(operand, source.mode);
    const end = source.address + BigInt(bytes.length + size);
    bytes.push(...opcode);
    if (operand === 'none') {
      if (statement.operand !== '') complain(statement.line, `${statement.mnemonic} takes no operand`);
      continue;
    }
    const value = evaluate(statement.operand, labels);
    if (typeof value === 'string') complain(statement.line, `${statement.mnemonic}: ${value}`);
    const width = size - opcode.length;
    const isRelative = operand === 'rel' || operand === 'rel8';
    const stored = isRelative ? BigInt.asIntN(64, (value as bigint) - end) : (value as bigint);
    const limit = 1n << BigInt(8 * width - (isRelative ? 1 : 0));
    if (stored >= limit || stored < (isRelative ? -limit : 0n))
      complain(
        statement.line,
        `${statement.operand} is too ${isRelative ? 'far' : 'large'} for ${statement.mnemonic}`,
        INSTRUCTIONS.has(`${statement.mnemonic}.near`) ? 'Use its .near form.' : '',
      );
    for (let index = 0; index < width; index++) bytes.push(Number((stored >> BigInt(8 * index)) & 0xffn));
  }
  return { address: source.address, bytes: Uint8Array.from(bytes), mode: source.mode };
}

function sizeOf(statement: CodeStatement, mode: CodeMode, complain: Complain): number {
  const { mnemonic } = statement;
  if (mnemonic === '') return 0;
  if (mnemonic === BYTES_WORD) return hexBytes(statement, complain).length;
  const row = INSTRUCTIONS.get(mnemonic);
  if (row === undefined) {
    const near = nearestNames(mnemonic, [...INSTRUCTIONS.keys()], 1)[0];
    return complain(
      statement.line,
      `no instruction '${mnemonic}'`,
      near === undefined ? 'Rows are added in instructions.ts; db takes bytes.' : `Did you mean ${near}?`,
    );
  }
  return row.opcode.length + operandBytes(row.operand, mode);
}

/** `db 0f 05`. */
function hexBytes(statement: CodeStatement, complain: Complain): number[] {
  return statement.operand.split(/[\s,]+/).map((word) => {
    if (!/^[0-9a-f]{2}$/i.test(word))
      complain(statement.line, `'${word}' is not a byte; db takes pairs of digits`);
    return Number.parseInt(word, 16);
  });
}
