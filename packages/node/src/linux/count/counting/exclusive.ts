import { closeSync, constants, fchmodSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { NamedFile, requireRegular } from '../../../host/files/index.ts';
import { checkOptions, listOf, OBJECT, TEXT } from '../../../host/options/index.ts';
import { Fd, realSys, type Sys } from '../../kernel/sys/index.ts';

/**
 * Where programs of all users find the same file: the first that is there and open to everybody (mode 1777).
 */
const PLACES = ['/run/lock', '/dev/shm', '/tmp'];
const NAME = 'counterpoint-exclusive.lock';
const PATHS = listOf(TEXT, 'a list of paths');
const STICKY_AND_OPEN = 0o1002;

/**
 * The lock of those who require the counters for themselves: of two, one is refused, with the name
 * of the other. It is advisory: it holds among users of this library, and the kernel lets it go with
 * the process, however that ends.
 */
export function lockExclusive(sys: Sys, places: readonly string[] = PLACES): Fd {
  const path = `${lockDirectory(places)}/${NAME}`;
  const fd = openLock(path);
  try {
    if (sys.tryLock(fd)) return fd;
    throw new CounterpointError(
      'ERR_COUNTERS_TAKEN',
      `the counters are taken: ${describeHolder(fd)} has exclusive use of them`,
      'Wait until it ends, or count without `exclusive`.',
    );
  } catch (error) {
    fd.close();
    throw error;
  }
}

/** Who requires the counters for itself now, `process 708 (node app.js)`; null: nobody. Makes no file. */
export function exclusiveHolder(): string | null;
/** @internal */
export function exclusiveHolder(sys: Sys, places?: readonly string[]): string | null;
export function exclusiveHolder(sys: Sys = realSys, places: readonly string[] = PLACES): string | null {
  checkOptions('exclusiveHolder()', { sys, places }, { sys: OBJECT, places: PATHS });
  let path: string;
  try {
    path = `${lockDirectory(places)}/${NAME}`;
  } catch {
    // Without a place for the lock nobody has it.
    return null;
  }
  let fd: Fd;
  try {
    fd = openMade(path);
  } catch {
    // Nobody has made it yet, or it is not one of ours.
    return null;
  }
  using lock = fd;
  return sys.tryLock(lock) ? null : describeHolder(lock);
}

function lockDirectory(places: readonly string[]): string {
  const found = places.find((place) => {
    const stat = statSync(place, { throwIfNoEntry: false });
    return stat?.isDirectory() === true && (stat.mode & STICKY_AND_OPEN) === STICKY_AND_OPEN;
  });
  if (found !== undefined) return found;
  throw new CounterpointError(
    'ERR_NO_LOCK',
    `there is no directory for a lock that all users share (${places.join(', ')})`,
    'Count without exclusive.',
  );
}

/**
 * Reading is enough for a lock, so it does not matter who made the file. It is made apart from
 * opening it: the kernel does not let root open a file of another user with O_CREAT in such a
 * directory (fs.protected_regular).
 */
function openLock(path: string): Fd {
  for (;;) {
    try {
      return openMade(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(path, error);
    }
    try {
      const made = openSync(path, constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
      // Whatever the umask says.
      fchmodSync(made, 0o644);
      closeSync(made);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, error);
    }
  }
}

/** No link, and nothing whose opening could wait: the directory is everybody's. */
function openMade(path: string): Fd {
  using file = new NamedFile(path, { followLink: false });
  requireRegular(file);
  return new Fd(file.openSync(), closeSync);
}

function unusable(path: string, error: unknown): CounterpointError {
  const why = (error as Error).message;
  return new CounterpointError(
    'ERR_NO_LOCK',
    `cannot open the lock ${path}: ${why}`,
    'Remove it if no program uses it.',
  );
}

/**
 * The process that has the lock: `1: FLOCK  ADVISORY  WRITE 708 00:1a:4242 0 EOF` in
 * /proc/locks, by the file's inode.
 */
function describeHolder(fd: Fd): string {
  const { ino } = fstatSync(fd.number);
  try {
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, kind, , , pid, place = ''] = line.split(/\s+/);
      if (kind !== 'FLOCK' || Number(place.split(':')[2]) !== ino) continue;
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        .split('\0')
        .filter((word) => word !== '');
      return `process ${pid} (${words.join(' ').slice(0, 120)})`;
    }
  } catch {
    // It has ended in between, or /proc hides it.
  }
  return 'another process';
}
