import { printable } from '@counterpoint/core/base';
import { SHF_EXECINSTR } from '@counterpoint/core/elf';
import type { CodeImage } from '../../../code/image/index.ts';
import { CodeWalk } from './code-walk.ts';
import type { FileCounts } from './file-counts.ts';
import type { ProgramFile } from './program-file.ts';

/** What was executed of one function. */
export interface FunctionCoverage {
  /** As the symbol table has it. */
  readonly name: string;
  /** Where it begins, in the file's own terms. */
  readonly address: number;
  /** Of its code. */
  readonly sizeBytes: number;
  /** How often its first instruction was executed. */
  readonly executed: number;
  /** Number of its instructions. */
  readonly instructions: number;
  /** How many of them were executed at least once. */
  readonly covered: number;
}

/** A part that a compiler moved away is entered by jumps: it is no function that is called. */
const COLD_PART = /\.cold(\.\d+)?$/;

/** Every function of a file, executed or not, by address. Needs no debug information, only symbols. */
export function functionCoverage(counts: FileCounts, image: CodeImage): FunctionCoverage[] {
  const { file } = counts;
  const { symbols } = file;
  const functions: FunctionCoverage[] = [];
  const walk = new CodeWalk(image, file);
  for (let symbol = 0; symbol < symbols.length; symbol++) {
    const address = symbols.start(symbol);
    const end = symbols.end(symbol);
    if (end <= address || !isCode(file, address) || COLD_PART.test(symbols.rawName(symbol))) continue;
    let instructions = 0;
    let covered = 0;
    walk.go(address, end, (at) => {
      instructions++;
      if (counts.executedAt(at) > 0) covered++;
    });
    functions.push({
      name: symbols.rawName(symbol),
      address,
      sizeBytes: end - address,
      executed: counts.executedAt(address),
      instructions,
      covered,
    });
  }
  return functions;
}

function isCode({ elf }: ProgramFile, address: number): boolean {
  return elf.sections.some(
    (one) => (one.flags & SHF_EXECINSTR) !== 0 && address >= one.address && address < one.address + one.size,
  );
}

/** What `functionCoverage` found, as text: calls, executed instructions of all, name. */
export function* writeFunctionCoverage(
  counts: FileCounts,
  functions: readonly FunctionCoverage[],
): Generator<string> {
  const { name } = counts.file;
  const distinct = counts.executed.reduce((sum, executed) => sum + (executed > 0 ? 1 : 0), 0);
  const called = functions.filter(({ covered }) => covered > 0);
  const instructions = functions.reduce((sum, one) => sum + one.instructions, 0);
  const covered = functions.reduce((sum, one) => sum + one.covered, 0);
  yield `${printable(name)}: ${called.length} of ${functions.length} functions, ${covered} of ${instructions} instructions were executed\n`;
  if (distinct > covered)
    yield `${distinct - covered} more executed instructions are in no function that has a symbol\n`;
  yield '        calls    executed /       all  function\n';
  for (const one of [...functions].sort((a, b) => b.executed - a.executed || a.address - b.address))
    yield `${String(one.executed).padStart(13)} ${String(one.covered).padStart(11)} / ${String(one.instructions).padStart(9)}  ${printable(one.name)}\n`;
}
