import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';

const SET_USER_ID = 0o4000;
const SET_GROUP_ID = 0o2000;

/**
 * What is special about a program at whose exec the kernel took the events away: there are these three
 * causes. A script has the rights of its interpreter.
 */
export function extraRights(file: string): string {
  const unclear = 'has more rights than its parent (set-user-id, file capabilities), or may not be read';
  try {
    const { mode } = statSync(file);
    if (beginsAsScript(file)) return unclear;
    if ((mode & SET_USER_ID) !== 0) return 'is set-user-id';
    if ((mode & SET_GROUP_ID) !== 0) return 'is set-group-id';
    if (!isReadable(file)) return 'may be run, but not read, by this user';
    return 'has file capabilities (see: getcap)';
  } catch {
    return unclear;
  }
}

/** How to watch it all the same. To root most of these programs give nothing that root has not. */
export function extraRightsRemedy(isRoot = process.geteuid?.() === 0): string {
  const wholeCpus = 'watch whole CPUs (-a): the kernel does not take their events.';
  return isRoot
    ? `To see it, ${wholeCpus}`
    : `To see it, run counterpoint as root (sudo): if the program gains no rights, the events stay. Or, as root, ${wholeCpus}`;
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function beginsAsScript(file: string): boolean {
  if (!isReadable(file)) return false;
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(2);
    return readSync(fd, bytes) === 2 && bytes.toString('latin1') === '#!';
  } finally {
    closeSync(fd);
  }
}
