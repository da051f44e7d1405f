import { Output } from '../cli/common/output.ts';
import { runCommandLine } from '../cli/main.ts';

export { commandLineProcess } from './sources.ts';

export interface CommandResult {
  status: number;
  out: string;
  err: string;
}

/** Run a command line of ours in this process and collect what it prints. */
export async function counterpoint(...words: string[]): Promise<CommandResult> {
  const decoder = new TextDecoder();
  const texts = ['', ''];
  const outputs = texts.map((_, i) => {
    const write = (piece: string | Uint8Array) => {
      texts[i] += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
    };
    return new Output({ isTerminal: false, columns: () => 0, write }, {});
  });
  const status = await runCommandLine(words, outputs[0]!, outputs[1]!);
  return { status, out: texts[0]!, err: texts[1]! };
}
