import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/**
 * Hold the lock on a file, waiting for it. flock(2) belongs to the open file, which this process shares
 * with the program `flock`: the lock stays when that has ended, and the kernel takes it back when this
 * process does, however it ends.
 */
export function takeFileLock(path: string): Disposable {
  const fd = openSync(path, 'w');
  const flock = (...words: string[]) =>
    spawnSync('flock', [...words, '3'], { stdio: ['ignore', 'ignore', 'inherit', fd] });
  let result = flock('-x', '-n');
  if (result.status === 1) {
    console.error(`Waiting for ${path}: another process is building there.`);
    result = flock('-x');
  }
  if (result.status !== 0) {
    closeSync(fd);
    throw new Error(`${path} could not be locked: ${result.error?.message ?? `status ${result.status}`}`);
  }
  return { [Symbol.dispose]: () => closeSync(fd) };
}
