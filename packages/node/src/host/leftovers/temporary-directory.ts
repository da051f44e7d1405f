import { closeSync, constants, fstatSync, openSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leftNames } from './left-names.ts';
import { groupOf, thisOwner } from './owner.ts';

const NAME = /^(counterpoint_[\d_]+)\.[a-z]+-\w{6}$/;

/**
 * A directory of this process for files that nobody else shall see. Remove it with all that is in it. Where
 * the process is killed before, the next start of a verb does:
 *
 *   /tmp/counterpoint_4711_88213_4026531836.loop-Xq3a9B
 */
export async function temporaryDirectory(purpose: string): Promise<string> {
  return await mkdtemp(join(tmpdir(), `${groupOf(thisOwner())}.${purpose}-`));
}

/** Remove the temporary directories of this user's processes that were killed. Fails nothing. */
export function removeLeftDirectories(directory: string = tmpdir()): void {
  try {
    // What is looked at is what is removed, whatever the path leads to by then.
    const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      if (!keepsNames(fd)) return;
      const place = `/proc/self/fd/${fd}`;
      for (const name of leftNames(place, (each) => NAME.exec(each)?.[1], isPrivateDirectory))
        rmSync(join(place, name), { recursive: true, force: true });
    } finally {
      closeSync(fd);
    }
  } catch {
    // They stay: the command has other things to do.
  }
}

/** Whether nobody but this user and root can put one thing in the place of another there. */
function keepsNames(fd: number): boolean {
  const { uid, mode } = fstatSync(fd);
  const isSticky = (mode & 0o1000) !== 0;
  return (uid === 0 || uid === process.geteuid!()) && (isSticky || (mode & 0o022) === 0);
}

/** As mkdtemp makes them: others can put nothing into it. */
function isPrivateDirectory(stat: { isDirectory(): boolean; mode: number }): boolean {
  return stat.isDirectory() && (stat.mode & 0o077) === 0;
}
