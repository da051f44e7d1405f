import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { examineMachine } from '../linux/kernel/probe/index.ts';
import { realSys } from '../linux/kernel/sys/index.ts';

const NOBODY = 65534;

/**
 * A copy of a program from whose process the kernel takes all events: to root nearly every program
 * gives nothing new, but one of another user does; an ordinary user may not read theirs. The
 * directory has to be reachable by all.
 */
export function specialProgram(path: string, from: string): string {
  const isRoot = process.getuid?.() === 0;
  copyFileSync(realpathSync(from), path);
  if (isRoot) chownSync(path, NOBODY, NOBODY);
  chmodSync(path, isRoot ? 0o4755 : 0o111);
  return path;
}

/** Why such a program cannot be watched here. */
export function skipSpecial(directory: string): string | false {
  if (!examineMachine(realSys, 1).canRecord) return 'nothing can be recorded here';
  if (process.getuid?.() !== 0) return false;
  chmodSync(directory, 0o755);
  const cat = specialProgram(join(directory, 'special-cat'), '/bin/cat');
  const status = execFileSync(cat, ['/proc/self/status'], { encoding: 'utf8' });
  return /^Uid:\t0\t65534/m.test(status) ? false : `no set-user-id programs in ${dirname(cat)}`;
}
