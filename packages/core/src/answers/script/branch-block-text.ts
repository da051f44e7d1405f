import { printable } from '../../base/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/tables/index.ts';
import type { BlockLine } from './branch-blocks.ts';
import { hexText } from './branch-entries.ts';

export interface BlockTextOptions {
  /** Each instruction's length, too (`brstackinsnlen`). */
  hasLengths: boolean;
  /** The line of source code of a frame, as perf prints it, or empty. */
  lineOf: (frame: number) => string;
}

const JUMP_WIDTH = 30;

/**
 * Lines below a sample, as perf prints them:
 *
 *     \twork+72:
 *     \t00007ffff7fe37b0\tinsn: 48 83 c6 08
 *     \t00007ffff7fe37b8\tinsn: 75 f6                   \t# PRED 3 cycles [6] 1.00 IPC
 */
export function blockText(profile: Profile, lines: readonly BlockLine[], options: BlockTextOptions): string {
  if (lines.length === 0) return '\n';
  const { frames } = profile;
  let text = '\n';
  let lastSymbol = NONE;
  let totalCycles = 0;
  for (const line of lines) {
    if (line.kind === 'remark') {
      text += `${line.text}\n`;
      continue;
    }
    const symbol = line.frame === NONE ? NONE : frames.symbol.at(line.frame);
    if (symbol !== NONE && symbol !== lastSymbol) {
      lastSymbol = symbol;
      const offset = frames.symbolOffset.at(line.frame);
      const name = printable(recordedName(profile, line.frame) ?? '[unknown]');
      text += `\t${name}${offset === 0 ? '' : `+${offset}`}:${options.lineOf(line.frame)}\n`;
    }
    if (line.kind === 'place') continue;
    const { ip, length, bytes } = line;
    const code = length === 0 ? '<bad>' : `insn: ${hexBytes(bytes)}`;
    const address = `\t${hexText(ip).padStart(16, '0')}\t`;
    if (line.kind === 'instruction') {
      text += `${address}${code}${options.hasLengths ? `\tilen: ${length}` : ''}\n`;
      continue;
    }
    const { flags } = line.entry;
    text += `${address}${code.padEnd(JUMP_WIDTH)}\t${options.hasLengths ? `ilen: ${length}\t` : ''}#`;
    if (flags.prediction !== null) text += flags.prediction === 'predicted' ? ' PRED' : ' MISPRED';
    text += `${flags.isInTransaction ? ' INTX' : ''}${flags.isAbort ? ' ABORT' : ''}`;
    if (flags.cycles > 0) {
      totalCycles += flags.cycles;
      text += ` ${flags.cycles} cycles [${totalCycles}]`;
      if (line.instructions > 0) text += ` ${hundredths(line.instructions / flags.cycles)} IPC`;
    }
    text += '\n';
  }
  return text;
}

function hexBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += `${byte.toString(16).padStart(2, '0')} `;
  return text;
}

/** Two digits, as C prints a float: one that lies between two goes to the even one. */
function hundredths(ratio: number): string {
  // Exact: a float has 24 bits.
  const scaled = Math.fround(ratio) * 100;
  const below = Math.floor(scaled);
  const rest = scaled - below;
  const rounded = rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  return (rounded / 100).toFixed(2);
}
