import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { Note } from '../perf-events/index.ts';
import { isNodeProgram, mayStartDeno, mayStartNode } from '../target/index.ts';
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

/** What a command gets so that functions of JavaScript have names. */
export interface NamesEnvironment {
  variables: { NODE_OPTIONS?: string; DENO_V8_FLAGS?: string };
  /** What to tell: at once, or when the first Node is met. */
  note: Note;
  isToldAtOnce: boolean;
}

type NamesRequest = Pick<RecordOptions, 'nodeNames' | 'launch' | 'command'>;

/** Null: the environment stays as it is, which `notes` says where names were to be expected. */
export function namesEnvironment(
  program: string,
  cwd: string,
  options: NamesRequest,
  notes: Note[],
): NamesEnvironment | null {
  const { nodeNames: wanted = 'auto', command = [] } = options;
  if (wanted === false || (wanted === 'auto' && !mayStartNode(program, command))) return null;
  const isNode = isNodeProgram(program);
  const variables: NamesEnvironment['variables'] = {};
  const nodeOptions = nodeOptionsForNames(program, cwd, options, notes);
  if (nodeOptions !== null) variables.NODE_OPTIONS = nodeOptions.text;
  if (mayStartDeno(program, command)) {
    const flags = options.launch?.env?.['DENO_V8_FLAGS'] ?? process.env['DENO_V8_FLAGS'] ?? '';
    if (!/perf[-_](basic[-_])?prof/.test(flags))
      variables.DENO_V8_FLAGS = [...(flags === '' ? [] : [flags]), ...NAME_FLAGS].join(',');
  }
  const added = Object.keys(variables);
  if (added.length === 0) return null;
  const who = isNode ? 'the command is Node' : 'the command starts Node';
  const flags = nodeOptions?.added.join(' ') ?? NAME_FLAGS.join(',');
  const text = `${who}: ${added.join(' and ')} ${added.length > 1 ? 'have' : 'has'} ${flags}, so that JavaScript functions have names (--no-node-names prevents this)`;
  return { variables, note: { kind: 'node-names', text }, isToldAtOnce: isNode || wanted === true };
}

/** The NODE_OPTIONS with the flags that are missing; null where they stay as they are. */
export function nodeOptionsForNames(
  program: string,
  cwd: string,
  options: NamesRequest,
  notes: Note[],
): { text: string; added: readonly string[] } | null {
  const env = options.launch?.env ?? process.env;
  const given = env['NODE_OPTIONS'] ?? '';
  const names = nodeOptionWords(given)?.map(flagName);
  // Node does not start with this one. It shall say so of what the user wrote.
  if (names === undefined) return null;
  const missing = NAME_FLAGS.filter((flag) => !isDecided(flag, names));
  if (missing.length === 0) return null;
  const isNode = isNodeProgram(program);
  const keepsLog = options.nodeNames === true || isWritable(cwd);
  const added = keepsLog ? missing : isNode ? withoutLog(missing, program) : null;
  if (added !== null) return { text: appendNodeOptions(given, added), added };
  const text = `${cwd} cannot be written, and V8 would write a log of its own to standard output: JavaScript functions have no names. Start the command in a directory that it can write, or give --node-names to accept the log`;
  if (isNode) notes.push({ kind: 'node-names', text });
  return null;
}

/**
 * With those flags V8 opens a log in the working directory (`CommandNames`). Where it cannot, it
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
