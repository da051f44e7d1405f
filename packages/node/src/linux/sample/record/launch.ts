import type { Note } from '../../kernel/perf-events/index.ts';
import { type HeldCommand, launchHeld, resolveProgram, workingDirectory } from '../../kernel/target/index.ts';
import { CommandNames } from './command-names.ts';
import { namesEnvironment } from './node-names.ts';
import type { RecordOptions } from './options.ts';
import { scopeOf } from './request.ts';

/** Start the command of a recording, held; null if there is none. */
export function launch(options: LaunchRequest, notes: Note[]): Launched | null {
  const { command = [], launch: given = {}, output } = options;
  if (command.length === 0) return null;
  const { cwd = workingDirectory(), env = process.env, stdio } = given;
  const program = resolveProgram(command[0]!, { path: env['PATH'], cwd });
  const isWatched = ['command', 'cpus'].includes(scopeOf(options).kind);
  const names = isWatched ? namesEnvironment(program, cwd, options, notes) : null;
  if (names?.isToldAtOnce === true) notes.push(names.note);
  const held = launchHeld(names?.command ?? command, {
    env: { ...env, ...names?.variables },
    cwd,
    // Where the recording goes to standard output, the command's own output would stand in the middle of it.
    stdio: stdio ?? ['inherit', output === '-' ? 2 : 'inherit', 'inherit'],
  });
  if (names === null) return { held, names: null };
  return { held, names: new CommandNames(cwd, names.isToldAtOnce ? null : names.note) };
}

type LaunchRequest = Pick<
  RecordOptions,
  'command' | 'launch' | 'output' | 'nodeNames' | 'pids' | 'tids' | 'systemWide' | 'cpus'
>;

export interface Launched {
  held: HeldCommand;
  /** Null where the environment is as it was. */
  names: CommandNames | null;
}
