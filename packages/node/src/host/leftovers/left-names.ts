import { lstatSync, readdirSync, type Stats, statfsSync } from 'node:fs';
import { hasEnded, ownerOf } from './owner.ts';

/**
 * Filesystems that one kernel has for itself (linux/magic.h): ext, xfs, btrfs, f2fs, zfs, bcachefs, tmpfs,
 * ramfs, overlay. In others there may be files of processes of other machines.
 */
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e, 0x01021994, 0x858458f6, 0x794c7630,
]);

/**
 * What is in a directory of this user's processes that have ended. `groupIn` takes the owner's name from that
 * of a file; `isRight` says whether such a thing is one of ours.
 */
export function leftNames(
  directory: string,
  groupIn: (name: string) => string | undefined,
  isRight: (stat: Stats) => boolean,
): string[] {
  const ended = new Map<string, boolean>();
  const isLeft = (name: string): boolean => {
    const group = groupIn(name);
    const owner = group === undefined ? null : ownerOf(group);
    if (owner === null) return false;
    if (!ended.has(group!)) ended.set(group!, hasEnded(owner));
    const stat =
      ended.get(group!) === true ? lstatSync(`${directory}/${name}`, { throwIfNoEntry: false }) : undefined;
    return stat !== undefined && stat.uid === process.geteuid!() && isRight(stat);
  };
  const left = readdirSync(directory).filter(isLeft);
  return left.length > 0 && LOCAL.has(statfsSync(directory).type) ? left : [];
}
