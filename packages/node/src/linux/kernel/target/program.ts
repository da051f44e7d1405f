import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { CounterpointError, didYouMean } from '@counterpoint/core/base';
import { formatProblem } from './executable.ts';

/**
 * A command that cannot be run; `exitStatus` is what a shell would give: 127 not
 * found, 126 found but not to be run.
 */
export class CommandError extends CounterpointError {
  readonly exitStatus: 126 | 127;

  constructor(code: string, message: string, exitStatus: 126 | 127, remedy: string) {
    super(code, message, remedy);
    this.name = 'CommandError';
    this.exitStatus = exitStatus;
  }
}

export interface ProgramSearch {
  /** `PATH`, as in the command's environment. */
  path?: string | undefined;
  /** Directory in which the command will run. */
  cwd?: string;
}

/**
 * The directory of this process, by another name where its own is gone: `rmdir`
 * under a shell that stands in it.
 */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/proc/self/cwd';
  }
}

/** What execvp(3) searches where PATH is not set. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** The file that exec will run for `name`, or `CommandError`. Asked before anything is started. */
export function resolveProgram(name: string, { path, cwd = workingDirectory() }: ProgramSearch = {}): string {
  requireDirectory(cwd);
  if (name === '')
    throw new CommandError('ERR_COMMAND_NOT_FOUND', 'the command is an empty word', 127, 'Name a program.');
  if (name.includes('/')) {
    const file = resolve(cwd, name);
    const why = cannotRun(file);
    if (why === null) return checkedFormat(name, file);
    if (why === 'missing')
      throw new CommandError('ERR_COMMAND_NOT_FOUND', `${name}: no such file`, 127, 'Check the path.');
    throw notExecutable(name, why === 'out of reach' ? 'permission denied' : why);
  }
  let refusal: CommandError | null = null;
  for (const directory of (path ?? DEFAULT_PATH).split(':')) {
    const file = resolve(cwd, join(directory === '' ? '.' : directory, name));
    const why = cannotRun(file);
    if (why === null) return checkedFormat(name, file);
    if (why === 'not executable' || why === 'permission denied') refusal ??= notExecutable(file, why);
  }
  if (refusal !== null) throw refusal;
  const here = cannotRun(resolve(cwd, name)) === null ? [`./${name}`] : [];
  throw new CommandError(
    'ERR_COMMAND_NOT_FOUND',
    `${name}: command not found${didYouMean(here)}`,
    127,
    'Counterpoint looks in the directories of PATH; for another place, give a path with a slash.',
  );
}

/** Starting a program in a directory that is not there fails as if the program were missing. */
function requireDirectory(cwd: string): void {
  const why = cannotEnter(cwd);
  if (why === null) return;
  throw new CounterpointError(
    'ERR_LAUNCH',
    `the command cannot run in the directory ${cwd}: ${why}`,
    'Give a directory that exists and that this user may enter.',
  );
}

function cannotEnter(directory: string): string | null {
  try {
    if (!statSync(directory).isDirectory()) return 'it is not a directory';
    accessSync(directory, constants.X_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : 'permission denied';
  }
}

const OTHER_PROGRAM = 'Name a program that this user can run on this machine.';

function checkedFormat(name: string, file: string): string {
  const why = formatProblem(file);
  if (why !== null)
    throw new CommandError('ERR_COMMAND_NOT_EXECUTABLE', `${name}: ${why}`, 126, OTHER_PROGRAM);
  return file;
}

function notExecutable(name: string, why: string): CommandError {
  const remedy = why === 'not executable' ? `Make it executable: chmod +x ${name}` : OTHER_PROGRAM;
  return new CommandError('ERR_COMMAND_NOT_EXECUTABLE', `${name}: ${why}`, 126, remedy);
}

type Obstacle = 'missing' | 'out of reach' | 'a directory' | 'not executable' | 'permission denied';

function cannotRun(file: string): Obstacle | null {
  let stat: Stats;
  try {
    stat = statSync(file);
  } catch (error) {
    // A directory on the way is closed: in PATH, nobody knows whether the file is there.
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'out of reach' : 'missing';
  }
  try {
    if (stat.isDirectory()) return 'a directory';
    if (!stat.isFile() || (stat.mode & 0o111) === 0) return 'not executable';
    accessSync(file, constants.X_OK);
    return null;
  } catch {
    return 'permission denied';
  }
}

const NODE_NAME = /^node(js)?(-?\d+(\.\d+)*)?$/;
const FIRST_LINE_BYTES = 256;

/** Whether running `file` runs Node: the program itself, or a script whose first line names it. */
export function isNodeProgram(file: string): boolean {
  if (NODE_NAME.test(basename(file)) || NODE_NAME.test(basename(realPath(file)))) return true;
  const program = scriptInterpreter(file);
  return program !== null && NODE_NAME.test(basename(program));
}

/**
 * Who runs a script by its first line: `#!/usr/bin/env -S node --flag`, `#!/usr/bin/node`. The first
 * word that is neither env nor an option or NAME=value.
 */
export function scriptInterpreter(file: string): string | null {
  const line = firstLine(file);
  if (!line.startsWith('#!')) return null;
  const words = line.slice(2).trim().split(/\s+/);
  const program = words.find(
    (word, at) => !(at === 0 && basename(word) === 'env') && !word.startsWith('-') && !word.includes('='),
  );
  return program ?? null;
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function firstLine(file: string): string {
  try {
    const fd = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(FIRST_LINE_BYTES);
      const text = bytes.toString('latin1', 0, readSync(fd, bytes));
      return text.split('\n', 1)[0]!;
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
}
