import type { Note } from '../perf-events/index.ts';
import { isNodeProgram } from '../target/index.ts';
import { appendNodeOptions, flagName, nodeOptionWords } from './node-options.ts';
import type { RecordOptions } from './options.ts';

/**
 * V8's flags that let a profiler name JavaScript: the first writes `/tmp/perf-PID.map` as code is made;
 * without the second all functions that are still interpreted appear as one frame of the interpreter
 * (nodejs/diagnostics#148, #407).
 */
export const NAME_FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack'] as const;

/**
 * The NODE_OPTIONS that the command gets so that its functions have names, or
 * null where they stay as they are.
 */
export function nodeOptionsForNames(
  program: string,
  options: Pick<RecordOptions, 'nodeNames' | 'launch'>,
  notes: Note[],
): string | null {
  const env = options.launch?.env ?? process.env;
  const wanted = options.nodeNames ?? 'auto';
  if (wanted === false || (wanted === 'auto' && !isNodeProgram(program))) return null;
  const given = env['NODE_OPTIONS'] ?? '';
  const names = nodeOptionWords(given)?.map(flagName);
  // Node does not start with this one. It shall say so of what the user wrote.
  if (names === undefined) return null;
  const added = NAME_FLAGS.filter((flag) => !isDecided(flag, names));
  if (added.length === 0) return null;
  const text = `the command is Node: NODE_OPTIONS has ${added.join(' ')}, so that JavaScript functions have names (--no-node-names prevents this)`;
  notes.push({ kind: 'node-names', text });
  return appendNodeOptions(given, added);
}

/**
 * Whether the user has set a flag, or set it off, or asked for names in another way:
 * --perf-prof writes a jitdump.
 */
function isDecided(flag: string, names: readonly string[]): boolean {
  if (names.includes(flag) || names.includes(`--no-${flag.slice(2)}`)) return true;
  return flag === NAME_FLAGS[0] && names.some((name) => name === '--perf-prof' || name.startsWith(flag));
}
