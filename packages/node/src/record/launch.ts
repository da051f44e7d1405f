import type { Note } from '../perf-events/index.ts';
import { type HeldCommand, launchHeld, resolveProgram, workingDirectory } from '../target/index.ts';
import { NameLogs } from './name-logs.ts';
import { nodeOptionsForNames } from './node-names.ts';
import type { RecordOptions } from './options.ts';

type LaunchRequest = Pick<RecordOptions, 'command' | 'launch' | 'output' | 'nodeNames'>;

export interface Launched {
  held: HeldCommand;
  nameLogs: NameLogs | null;
}

/** Start the command of a recording, held; null where there is none. */
export function launch(options: LaunchRequest, notes: Note[]): Launched | null {
  const { command = [], launch: given = {}, output } = options;
  if (command.length === 0) return null;
  const { cwd = workingDirectory(), env = process.env, stdio } = given;
  const program = resolveProgram(command[0]!, { path: env['PATH'], cwd });
  const nodeOptions = nodeOptionsForNames(program, cwd, options, notes);
  const held = launchHeld(command, {
    env: nodeOptions === null ? env : { ...env, NODE_OPTIONS: nodeOptions },
    cwd,
    // Where the recording goes to standard output, the command's own output would stand in the middle of it.
    stdio: stdio ?? ['inherit', output === '-' ? 2 : 'inherit', 'inherit'],
  });
  return { held, nameLogs: nodeOptions === null ? null : new NameLogs(cwd) };
}
