import { closeSync, constants, openSync, readlinkSync, realpathSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CounterpointError, optional } from '@counterpoint/core/base';
import { NamedFile } from './named-file.ts';
import { kindOf } from './regular-file.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = constants;

export interface OutputFileOptions {
  /** Behind what is there, instead of in its place. */
  append?: boolean;
  /** Of a file that is made, less the umask; 0o666. */
  mode?: number;
}

export interface WaitOptions {
  /** Ends the waiting for a reader; rejects with its reason. */
  signal?: AbortSignal;
  /** It is a named pipe that nobody reads yet. */
  onWait?: () => void;
}

/** Others may have changed what is there between two looks; they do not go on doing so. */
const MOST_ATTEMPTS = 100;
/** As many as the kernel follows. */
const MOST_LINKS = 40;
const READER_INTERVAL_MS = 20;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o022;

/** A named pipe that nobody reads: opening it would wait, and no signal could end that. */
class NoReader extends CounterpointError {
  constructor(path: string) {
    super('ERR_NO_READER', `no program reads the named pipe ${path}`, 'Start its reader first.');
  }
}

/**
 * A descriptor to write what the user asked for; where it is a named pipe, once it has a reader.
 * The rules stand in the README.
 */
export async function openOutputFile(
  path: string,
  { signal, onWait, ...options }: OutputFileOptions & WaitOptions = {},
): Promise<number> {
  for (let hasWaited = false; ; hasWaited = true) {
    try {
      return openOutputFileSync(path, options);
    } catch (error) {
      if (!(error instanceof NoReader)) throw error;
    }
    if (!hasWaited) onWait?.();
    await sleep(READER_INTERVAL_MS, undefined, optional({ signal }));
  }
}

/** As `openOutputFile`, at once: a named pipe without reader is an error, ERR_NO_READER. */
export function openOutputFileSync(path: string, options: OutputFileOptions = {}): number {
  let place = path;
  let links = 0;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const next = tryToOpen(place, options);
    if (typeof next === 'number') return next;
    if (next === null) continue;
    place = next;
    if (++links > MOST_LINKS) break;
  }
  throw new CounterpointError(
    'ERR_FILE_CHANGED',
    links > MOST_LINKS ? `${path} is a link to itself` : `${path} is being replaced repeatedly`,
    'Name a file in a directory to which only you can write.',
  );
}

/** A descriptor; or where a link leads; or null where it has to be looked at again. */
function tryToOpen(path: string, options: OutputFileOptions): number | string | null {
  if (isDescriptor(path)) return openSync(path, options.append === true ? 'a' : 'w');
  let file: NamedFile;
  try {
    file = new NamedFile(path, { followLink: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return make(path, options);
  }
  using named = file;
  const { facts } = named;
  if (facts.isSymbolicLink()) return isTrusted(facts.uid) ? follow(named) : replace(named, options);
  if (facts.isFIFO()) return openPipe(named);
  if (facts.isSocket()) throw new CounterpointError('ERR_OUTPUT', `${path} is a socket`, 'Name a file.');
  if (facts.isFile() && !(isTrusted(facts.uid) && !isPlanted(named))) return replace(named, options);
  const how = options.append === true ? O_APPEND : facts.isFile() ? O_TRUNC : 0;
  return named.openSync(O_WRONLY | how);
}

/** Of this user, or of root, who could do anything to us anyway. */
export function isTrusted(uid: number): boolean {
  const own = process.geteuid?.();
  return uid === 0 || own === undefined || uid === own;
}

/** Whether a path leads, maybe by links, to an open descriptor: `/dev/stdout`. */
export function leadsToDescriptor(path: string): boolean {
  let place = path;
  for (let links = 0; links <= MOST_LINKS; links++) {
    if (isDescriptor(place)) return true;
    try {
      place = resolve(dirname(place), readlinkSync(place));
    } catch {
      return false;
    }
  }
  return false;
}

/** An open descriptor by a name of /proc, `/proc/self/fd/1`: whatever it is, it was given to us. */
function isDescriptor(path: string): boolean {
  if (!/^\d+$/.test(basename(path))) return false;
  try {
    return /^\/proc\/\d+\/(?:task\/\d+\/)?fd$/.test(realpathSync(dirname(path)));
  } catch {
    return false;
  }
}

function follow(link: NamedFile): string | null {
  const target = resolve(dirname(link.path), readlinkSync(link.path));
  return link.isStillThere() ? target : null;
}

/**
 * A file of our own that somebody gave a second name, in a directory where others make names (hard links).
 */
function isPlanted({ path, facts }: NamedFile): boolean {
  if (facts.nlink < 2) return false;
  const directory = statSync(dirname(path));
  return (directory.mode & WRITABLE_BY_OTHERS) !== 0 || !isTrusted(directory.uid);
}

function make(path: string, { append = false, mode = 0o666 }: OutputFileOptions): number | null {
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | (append ? O_APPEND : 0), mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
}

/** What another user put there goes away: who made a file may keep it open, read it and change it. */
function replace({ path, facts }: NamedFile, options: OutputFileOptions): number | null {
  const whose = `${path} is ${kindOf(facts)} of user ${facts.uid}`;
  if (options.append === true)
    throw new CounterpointError('ERR_OUTPUT_OWNER', `${whose}: nothing is appended to it`, ANOTHER_FILE);
  try {
    unlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new CounterpointError(
      'ERR_OUTPUT_OWNER',
      `${whose} and cannot be replaced (${code})`,
      ANOTHER_FILE,
    );
  }
  return make(path, options);
}

const ANOTHER_FILE = 'Name another file, preferably in a directory to which only you can write.';

/**
 * The kernel's rule for pipes (fs.protected_fifos) and links (fs.protected_symlinks): in a sticky directory
 * only one's own, root's or those of the directory's owner.
 */
export function isForeignInShared(path: string, { uid }: { uid: number }): boolean {
  const directory = statSync(dirname(path));
  const isShared = (directory.mode & STICKY) !== 0 && (directory.mode & WRITABLE_BY_OTHERS) !== 0;
  return isShared && !isTrusted(uid) && uid !== directory.uid;
}

function openPipe(pipe: NamedFile): number {
  const { path, facts } = pipe;
  if (isForeignInShared(path, facts))
    throw new CounterpointError(
      'ERR_OUTPUT_OWNER',
      `${path} is a named pipe of user ${facts.uid}, in a directory to which everybody can write`,
      'Make your own pipe: mkfifo.',
    );
  let early: number;
  try {
    early = pipe.openSync(O_WRONLY | O_NONBLOCK);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENXIO' ? new NoReader(path) : error;
  }
  return waitingDescriptor(pipe, early);
}

/**
 * The same pipe for writes that wait. Opening it so could wait, too, should its reader just have gone: a
 * descriptor that reads sees to it that there is one.
 */
function waitingDescriptor(pipe: NamedFile, early: number): number {
  let reader: number;
  try {
    reader = pipe.openSync(O_RDWR | O_NONBLOCK);
  } catch {
    // It may only be written to: whoever writes has to cope with a full pipe.
    return early;
  }
  try {
    return pipe.openSync(O_WRONLY);
  } finally {
    closeSync(reader);
    closeSync(early);
  }
}
