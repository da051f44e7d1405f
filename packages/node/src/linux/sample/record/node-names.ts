import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Note } from '../../kernel/perf-events/index.ts';
import {
  isNodeProgram,
  mayStartDeno,
  mayStartNode,
  resolveProgram,
  scriptInterpreter,
} from '../../kernel/target/index.ts';
import { launchDirectories } from './launch-directories.ts';
import { appendNodeOptions, flagName, nodeOptionWords } from './node-options.ts';
import { majorOfNode } from './node-version.ts';
import type { RecordOptions } from './options.ts';
import { unwritableMap } from './unwritable-maps.ts';

/**
 * V8's flags that let a profiler name JavaScript: the first writes `/tmp/perf-PID.map` as code is made;
 * without the second all functions that are still interpreted appear as one frame of the interpreter
 * (nodejs/diagnostics#148, #407).
 */
export const NAME_FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack'] as const;

const LAST_WITHOUT_LOG = 22;
/** NODE_OPTIONS does not take these. `+` is a file without a name. */
const NAMELESS_LOG = ['--logfile=+', '--no-logfile-per-isolate'] as const;
/** Who has these wants a log. */
const LOG_WORD = /^--(no-)?(log|prof$|ll-prof$)/;

/** Who has none of these may have nothing to do with Node. */
const NODE_WORD = /\b(?:node|npm|npx|pnpm|yarn)(?:js)?\b/;
/** A Node by its path, in the text of a shell. */
const NODE_PATH = /[^\s;&|()<>"'`=]*\/node(?:js)?\d*(?=[\s;&|()<>"'`]|$)/g;

/** What a command gets so that functions of JavaScript have names. */
export interface NamesEnvironment {
  variables: { NODE_OPTIONS?: string; DENO_V8_FLAGS?: string };
  /** The command, which may have flags of its own. */
  command: readonly string[];
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
  const foreign = unwritableMap();
  if (foreign !== null) {
    const text = `this user cannot write ${foreign}: a Node that gets this number of a process would end at once, because V8 could not write its names there. It runs without ${NAME_FLAGS[0]}, and only optimised functions have names, from its memory. Remove the file`;
    notes.push({ kind: 'node-names', text });
    return null;
  }
  const variables: NamesEnvironment['variables'] = {};
  const nodeOptions = nodeOptionsForNames(program, cwd, options, notes);
  if (nodeOptions?.command !== undefined) {
    const text = `the command is Node, and ${cwd} cannot be written: its command line has ${nodeOptions.added.join(' ')}, so that JavaScript functions have names (--no-node-names prevents this)`;
    const note: Note = { kind: 'node-names', text };
    return { variables, command: nodeOptions.command, note, isToldAtOnce: true };
  }
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
  return { variables, command, note: { kind: 'node-names', text }, isToldAtOnce: isNode || wanted === true };
}

/**
 * The NODE_OPTIONS with the flags that are missing, or the command with all of them; null where they
 * stay as they are.
 */
export function nodeOptionsForNames(
  program: string,
  cwd: string,
  options: NamesRequest,
  notes: Note[],
): { text: string; added: readonly string[]; command?: readonly string[] } | null {
  const env = options.launch?.env ?? process.env;
  const given = env['NODE_OPTIONS'] ?? '';
  const names = nodeOptionWords(given)?.map(flagName);
  // Node does not start with this one. It shall say so of what the user wrote.
  if (names === undefined) return null;
  const missing = NAME_FLAGS.filter((flag) => !isDecided(flag, names));
  if (missing.length === 0) return null;
  const isNode = isNodeProgram(program);
  const canLog = options.nodeNames === true || isWritable(cwd);
  const node = nodeOf(program, env, cwd);
  // What others start may run anywhere.
  const unwritable = options.nodeNames === true ? null : unwritableOf(program, cwd, options, isNode);
  const isOther = !isNode && mayStartNewer(options.command ?? [], cwd);
  const quiet = isNode && canLog ? missing : node === null || isOther ? null : withoutLog(missing, node);
  const added = quiet ?? (unwritable === null ? missing : null);
  if (added !== null) return { text: appendNodeOptions(given, added), added };
  const flags = [...missing, ...NAMELESS_LOG];
  const command = isNode && node !== null ? withFlags(program, node, options.command ?? [], flags) : null;
  if (command !== null) return { text: given, added: flags, command };
  const text = `${unwritable}, and V8 would write a log of its own to standard output: only optimised functions of JavaScript have names. Start the command in a directory that it can write, or give --node-names to accept the log`;
  if (isNode || NODE_WORD.test((options.command ?? []).join(' '))) notes.push({ kind: 'node-names', text });
  return null;
}

/** Why the command, or what it starts, may not be able to make a log; null: nothing is known. */
function unwritableOf(
  program: string,
  cwd: string,
  { command = [] }: NamesRequest,
  isNode: boolean,
): string | null {
  const others = isNode ? [] : launchDirectories(program, command, cwd);
  for (const directory of [cwd, ...others]) {
    if (directory === null) return 'the directory of Node, which only the shell knows, may not be writable';
    if (!isWritable(directory)) return `${directory} cannot be written`;
  }
  return null;
}

/** Whether the words of a launcher name another Node than the first one of PATH, and one that has a log. */
function mayStartNewer(command: readonly string[], cwd: string): boolean {
  return command.some((word) =>
    (word.match(NODE_PATH) ?? []).some((path) => majorOfNode(resolve(cwd, path)) > LAST_WITHOUT_LOG),
  );
}

/** The Node that a program is, or that it finds; null: there is none. */
function nodeOf(program: string, env: NodeJS.ProcessEnv, cwd: string): string | null {
  const interpreter = isNodeProgram(program) ? (scriptInterpreter(program) ?? program) : 'node';
  try {
    return resolveProgram(interpreter, { path: env['PATH'], cwd });
  } catch {
    return null;
  }
}

/**
 * The command with flags of V8 in front; null where they cannot be given. A script
 * is run as its first line says.
 */
function withFlags(
  program: string,
  node: string,
  command: readonly string[],
  flags: readonly string[],
): readonly string[] | null {
  const [name, ...words] = command;
  if (name === undefined || words.some((word) => LOG_WORD.test(flagName(word)))) return null;
  if (scriptInterpreter(program) === null) return [name, ...flags, ...words];
  return [node, ...flags, program, ...words];
}

/**
 * With those flags V8 opens a log in the working directory (`CommandNames`). Where it cannot, it
 * writes the log to standard output.
 */
function isWritable(directory: string): boolean {
  // Rights alone do not say it: root has them all, in /proc, too. A file without a name is seen by nobody.
  const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
  try {
    closeSync(openSync(directory, constants.O_RDWR | O_TMPFILE, 0o600));
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    return ['EOPNOTSUPP', 'EISDIR', 'EINVAL'].includes(code) && canMakeFile(directory);
  }
}

function canMakeFile(directory: string): boolean {
  const path = join(directory, `.${basename(process.execPath)}-${process.pid}-${Date.now()}`);
  try {
    closeSync(openSync(path, 'wx', 0o600));
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}

/** Flags with which V8 opens no log, without names of regular expressions; null: this version has none. */
function withoutLog(flags: readonly string[], program: string): readonly string[] | null {
  if (!flags.includes(NAME_FLAGS[0])) return flags;
  if (majorOfNode(program) > LAST_WITHOUT_LOG) return null;
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
