import type { Note } from '../session/index.ts';
import { isNodeProgram } from '../target/index.ts';
import type { RecordOptions } from './options.ts';

/**
 * V8's flags that let a profiler name JavaScript: the first writes `/tmp/perf-PID.map` as code is made; without the
 * second all functions that are still interpreted appear as one frame of the interpreter (nodejs/diagnostics#148, #407).
 */
const NAME_FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack'] as const;

/** The NODE_OPTIONS that the command gets so that its functions have names, or null where they stay as they are. */
export function nodeOptionsForNames(
  program: string,
  options: Pick<RecordOptions, 'nodeNames' | 'launch'>,
  notes: Note[],
): string | null {
  const env = options.launch?.env ?? process.env;
  const wanted = options.nodeNames ?? 'auto';
  if (wanted === false || (wanted === 'auto' && !isNodeProgram(program))) return null;
  const given = (env['NODE_OPTIONS'] ?? '').split(/\s+/).filter((word) => word !== '');
  // --perf-prof names functions in a jitdump instead.
  const isNamed = given.some((word) => word.startsWith('--perf-basic-prof') || word === '--perf-prof');
  const added = NAME_FLAGS.filter((flag) => !given.includes(flag) && !(isNamed && flag === NAME_FLAGS[0]));
  if (added.length === 0) return null;
  const text = `the command is Node: NODE_OPTIONS has ${added.join(' ')}, so that JavaScript functions have names (--no-node-names leaves it out)`;
  notes.push({ kind: 'node-names', text });
  return [...given, ...added].join(' ');
}
