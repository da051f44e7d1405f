import { closeSync, constants, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { join } from 'node:path';
import { adopt } from './adopt.ts';
import { checked, libc } from './ffi.ts';
import type { Fd } from './handles.ts';
import type { TracefsCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

// The same numbers on every architecture (asm-generic/unistd.h). Linux 5.2.
const FSOPEN = 430;
const FSCONFIG = 431;
const FSMOUNT = 432;
// linux/mount.h
const FSOPEN_CLOEXEC = 1;
const FSCONFIG_CMD_CREATE = 6;
const FSMOUNT_CLOEXEC = 1;

const fsopenCall = libc('long syscall(long number, const char *filesystem, unsigned int flags)');
const fsconfigCall = libc(
  'long syscall(long number, int fd, unsigned int command, void *key, void *value, int aux)',
);
const fsmountCall = libc('long syscall(long number, int fd, unsigned int flags, unsigned int attributes)');

/** Where it is mounted: its own place, then the one inside debugfs. */
const MOUNTS = ['/sys/kernel/tracing', '/sys/kernel/debug/tracing'];

/** Not mounted there, or mounted so that it cannot be written: a mount of our own may do. */
const NOT_THERE: ReadonlySet<string> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EROFS',
  'EACCES',
  'EPERM',
  'ENODEV',
  'ENOSYS',
]);

/**
 * A mount of tracefs that is attached nowhere, so that nobody else sees it: for a machine or container where
 * tracefs is not mounted, or only to be read. There is one tracefs in a kernel; each mount shows the same
 * files. Asks for CAP_SYS_ADMIN.
 */
function mountTracefs(): Fd {
  using context = adopt(
    checked(fsopenCall(FSOPEN, 'tracefs', FSOPEN_CLOEXEC), 'fsopen', { filesystem: 'tracefs' }),
  );
  checked(fsconfigCall(FSCONFIG, context.number, FSCONFIG_CMD_CREATE, null, null, 0), 'fsconfig', {
    filesystem: 'tracefs',
  });
  return adopt(
    checked(fsmountCall(FSMOUNT, context.number, FSMOUNT_CLOEXEC, 0), 'fsmount', { filesystem: 'tracefs' }),
  );
}

let own: string | null = null;

/**
 * Path of a mount of our own, made on the first call and held as long as this thread lives: only this process
 * can follow it. Throws `SysError` where this process may not mount.
 */
function ownTracefs(): string {
  own ??= `/proc/self/fd/${mountTracefs().release()}`;
  return own;
}

/**
 * Where this process reads tracefs: where it is mounted, else at a mount of our own; null where neither is to
 * be had. A place that is there and forbidden is not left out: that is what to tell.
 */
export function tracefsRoot(): string | null {
  for (const mount of MOUNTS) {
    try {
      readdirSync(join(mount, 'events'));
      return mount;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') break;
    }
  }
  try {
    return ownTracefs();
  } catch {
    return null;
  }
}

/** Do `use` with the first tracefs where it works. Where none does, the error is what the first said. */
function withTracefs<T>(use: (root: string) => T): T {
  let first: unknown = null;
  for (const mount of MOUNTS) {
    try {
      return use(mount);
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      first ??= error;
    }
  }
  try {
    return use(ownTracefs());
  } catch (error) {
    throw isElsewhere(error) ? first : error;
  }
}

function isElsewhere(error: unknown): boolean {
  return NOT_THERE.has((error as { code: string }).code);
}

/** Node's errors of files, as those of system calls. */
function asSysError<T>(call: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    const { errno, code } = error as NodeJS.ErrnoException;
    if (error instanceof SysError || code === undefined) throw error;
    const number =
      errno === undefined ? systemConstants.errno[code as keyof typeof systemConstants.errno] : -errno;
    throw new SysError(call, number, { path });
  }
}

export const tracefsCalls: TracefsCalls = {
  readTracefs: (path) =>
    withTracefs((root) => asSysError('read', join(root, path), () => readFileSync(join(root, path), 'utf8'))),
  appendTracefs(path, line) {
    withTracefs((root) =>
      asSysError('write', join(root, path), () => {
        // To truncate this file would be to remove everybody's probes.
        const descriptor = openSync(join(root, path), constants.O_WRONLY | constants.O_APPEND);
        try {
          writeSync(descriptor, `${line}\n`);
        } finally {
          closeSync(descriptor);
        }
      }),
    );
  },
};
