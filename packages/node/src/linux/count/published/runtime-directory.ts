import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { checkOptions, TEXT } from '../../../host/options/index.ts';

/**
 * Where this user's programs find each other: under the user's runtime directory where there is one, else
 * under /tmp. The directory belongs to the user, and nobody else may look into it.
 */
export function runtimeDirectory(env: NodeJS.ProcessEnv = process.env): string {
  // Linux has it; and a uid need not have a name (containers), which os.userInfo() wants.
  const uid = process.getuid!();
  const base = [env['XDG_RUNTIME_DIR'], `/run/user/${uid}`].find(
    (path) => path !== undefined && isOwn(path, uid),
  );
  const path = base === undefined ? `/tmp/counterpoint-${uid}` : `${base}/counterpoint`;
  mkdirSync(path, { mode: 0o700, recursive: true });
  if (isOwn(path, uid)) return path;
  throw new CounterpointError(
    'ERR_RUNTIME_DIRECTORY',
    `${path} is not a directory that only you can use`,
    'Remove it, or set XDG_RUNTIME_DIR to a directory of mode 0700.',
  );
}

function isOwn(path: string, uid: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === uid && (stat.mode & 0o077) === 0;
}

/** A session that somebody has published. */
export interface Published {
  /** The process whose session it is. */
  pid: number;
  /** The name that `publish()` got. Default: `counters`. */
  name: string;
  /** Path of the Unix socket that takes requests. */
  socketPath: string;
  /** Path of the file that holds the page of sums. */
  sumsPath: string;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function publishedAs(pid: number, name: string, directory = runtimeDirectory()): Published {
  if (!NAME.test(name)) {
    throw new CounterpointError(
      'ERR_PUBLISHED_NAME',
      `'${name}' cannot be the name of a published session`,
      'Use up to 64 letters, digits, dots, dashes and underscores.',
    );
  }
  const path = `${directory}/${pid}-${name}`;
  return { pid, name, socketPath: `${path}.sock`, sumsPath: `${path}.sums` };
}

/** Between the page and the socket of a session that is being published lies less. */
const LEAST_AGE_MS = 10_000;

/** A worker that was terminated leaves its page: its socket, which Node removes, is gone. */
function isLeft({ socketPath, sumsPath }: Published): boolean {
  const page = lstatSync(sumsPath, { throwIfNoEntry: false });
  return page !== undefined && Date.now() - page.mtimeMs > LEAST_AGE_MS && !existsSync(socketPath);
}

function filesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throw new CounterpointError(
      'ERR_RUNTIME_DIRECTORY',
      `cannot list the sessions in ${directory}: ${(error as Error).message}`,
      'Name the directory in which sessions are published, or none for the usual one.',
    );
  }
}

/**
 * Every session of this user's running processes. What processes and workers that have
 * ended left behind is removed.
 */
export function listPublished(directory = runtimeDirectory()): Published[] {
  checkOptions('listPublished()', { directory }, { directory: TEXT });
  const found: Published[] = [];
  for (const file of filesOf(directory)) {
    const match = /^(\d+)-(.+)\.(sock|sums)$/.exec(file);
    if (match === null || !NAME.test(match[2]!)) continue;
    const published = publishedAs(Number(match[1]), match[2]!, directory);
    // Node removes the socket of a process that ends by itself.
    if (!isAlive(published.pid)) removePublished(published);
    else if (match[3] === 'sock') found.push(published);
    else if (isLeft(published)) removePublished(published);
  }
  return found;
}

export function removePublished({ socketPath, sumsPath }: Published): void {
  rmSync(socketPath, { force: true });
  rmSync(sumsPath, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
