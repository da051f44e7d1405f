import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
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

const LAST_WITHOUT_LOG = 22;
const VERSION_TIMEOUT_MS = 5000;

/**
 * The NODE_OPTIONS that the command gets so that its functions have names, or
 * null where they stay as they are.
 */
export function nodeOptionsForNames(
  program: string,
  cwd: string,
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
  const missing = NAME_FLAGS.filter((flag) => !isDecided(flag, names));
  if (missing.length === 0) return null;
  const added = wanted === true || isWritable(cwd) ? missing : withoutLog(missing, program);
  if (added === null) {
    const text = `${cwd} cannot be written, and V8 would write a log of its own to standard output: JavaScript functions have no names. Start the command in a directory that it can write, or give --node-names to accept the log`;
    notes.push({ kind: 'node-names', text });
    return null;
  }
  const text = `the command is Node: NODE_OPTIONS has ${added.join(' ')}, so that JavaScript functions have names (--no-node-names prevents this)`;
  notes.push({ kind: 'node-names', text });
  return appendNodeOptions(given, added);
}

/**
 * With those flags V8 opens a log in the working directory (`NameLogs`). Where it cannot, it
 * writes the log to standard output.
 */
function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Flags with which V8 opens no log, without names of regular expressions; null: this version has none. */
function withoutLog(flags: readonly string[], program: string): readonly string[] | null {
  if (!flags.includes(NAME_FLAGS[0])) return flags;
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: VERSION_TIMEOUT_MS });
  const major = Number(/^v(\d+)\./.exec(stdout ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  if (major > LAST_WITHOUT_LOG) return null;
  return flags.map((flag) => (flag === NAME_FLAGS[0] ? `${flag}-only-functions` : flag));
}

/**
 * Whether the user has set a flag, or set it off, or asked for names in another way:
 * --perf-prof writes a jitdump.
 */
function isDecided(flag: string, names: readonly string[]): boolean {
  if (names.includes(flag) || names.includes(`--no-${flag.slice(2)}`)) return true;
  return flag === NAME_FLAGS[0] && names.some((name) => name === '--perf-prof' || name.startsWith(flag));
}
