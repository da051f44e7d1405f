import { Output } from '../cli/common/output.ts';
import { runCommandLine } from '../cli/main.ts';

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

/** What `npm test` has compiled for all processes of its tests: a path. */
declare const COMPILED_COMMAND: string | null;

/** Arguments of Node for the command line as a process of its own. */
export function commandLineProcess(): string[] {
  const sources = '--conditions=counterpoint-source';
  if (typeof COMPILED_COMMAND === 'string') return [sources, COMPILED_COMMAND];
  const main = JSON.stringify(new URL('../cli/main.ts', import.meta.url).href);
  const script = `const { main } = await import(${main}); await main(process.argv.slice(1));`;
  return ['--import', import.meta.resolve('tsx'), sources, '--input-type=module', '-e', script, '--'];
}
