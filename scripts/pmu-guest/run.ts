import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Machine } from './machine.ts';
import { stateFile } from './paths.ts';
import type { SnapshotName } from './recipe.ts';
import { LEAVE_MEMORY_IN_ITS_FILE } from './snapshot.ts';

export interface GuestCommand {
  snapshot: SnapshotName;
  /** For bash, with `hostFolder` as the working folder, `/host`. */
  script: string;
  hostFolder: string;
  /** `/tools`; the request is written into it. */
  toolsFolder: string;
  out: Writable;
  err: Writable;
  timeoutSeconds: number;
}

/** Run a command in a guest of its own, begun from a snapshot. Resolves to its exit status. */
export async function runInGuest(folder: string, command: GuestCommand): Promise<number> {
  const { snapshot, hostFolder, toolsFolder } = command;
  writeFileSync(join(toolsFolder, 'request'), `${command.script}\n`);
  await using machine = await Machine.start({ folder, snapshot, mode: 'restore', hostFolder, toolsFolder });
  const printed = [
    pipeline(machine.out, command.out, { end: false }),
    pipeline(machine.err, command.err, { end: false }),
  ];
  await machine.monitor.execute('migrate-set-capabilities', LEAVE_MEMORY_IN_ITS_FILE);
  await machine.monitor.execute('migrate-incoming', { uri: `exec:cat ${stateFile(snapshot)}` });
  machine.control.write(`${Math.floor(Date.now() / 1000)}\n`);
  const line = await machine.readLine(command.timeoutSeconds);
  const status = /^exit (\d+)$/.exec(line)?.[1];
  if (status === undefined) throw new Error(`the guest said "${line}":\n${machine.lastWords()}`);
  // What was printed is in the sockets by now, and ends with the machine.
  await machine.monitor.execute('quit');
  await Promise.all(printed);
  return Number(status);
}
