/**
 * What V8 has compiled of the program, kept from run to run: half of the CPU time of a short recording is the
 * parsing and compiling of our own code. V8 itself refuses what another version or other flags have made.
 *
 * It is code that will run, so it is read only where nobody but this user can have written it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const FOLDER = 'counterpoint';
/** Of the file: text, filled up with spaces. The code begins behind it. */
const HEADER_BYTES = 4096;
const MAGIC = 'counterpoint code 1';
/** A machine that stops may leave pages of zeros; each page is looked at in this many places. */
const WORDS_BETWEEN_SUMMED = 128;
/**
 * What nobody has written for so long is removed, and what is more than so much: a
 * file has one or two megabytes.
 */
const KEPT_MS = 30 * 24 * 3600 * 1000;
const MOST_BUILDS = 4;
const MOST_FILES = 16;
const MOST_MARKS = 64;

export interface CachedCode {
  bytes: Buffer;
  /** What the runs did whose code it has. */
  marks: readonly string[];
}

/** Where it is, for this user; null: it is kept nowhere. */
export function cacheFolder(build: string, environment: NodeJS.ProcessEnv): string | null {
  // Node's own variables for the same thing.
  if ((environment['NODE_DISABLE_COMPILE_CACHE'] ?? '') !== '') return null;
  const given = environment['NODE_COMPILE_CACHE'] || environment['XDG_CACHE_HOME'];
  const home = environment['HOME'];
  const base = given || (home ? join(home, '.cache') : '');
  return base.startsWith('/') ? join(base, FOLDER, `code-${build}`) : null;
}

/** Null: there is none that can be used. */
export function readCachedCode(path: string): CachedCode | null {
  let fd = -1;
  try {
    for (const folder of [dirname(path), dirname(dirname(path))]) if (!isOurs(lstatSync(folder))) return null;
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const facts = fstatSync(fd);
    if (!facts.isFile() || !isOurs(facts) || facts.size <= HEADER_BYTES) return null;
    const whole = Buffer.allocUnsafeSlow(facts.size);
    if (readSync(fd, whole, 0, whole.length, 0) !== whole.length) return null;
    const [magic, size, sum, marks = ''] = whole.toString('latin1', 0, HEADER_BYTES).trimEnd().split('\n');
    const bytes = whole.subarray(HEADER_BYTES);
    if (magic !== MAGIC || size !== `${bytes.length}` || sum !== `${sumOf(bytes)}`) return null;
    return { bytes, marks: marks === '' ? [] : marks.split(' ') };
  } catch {
    return null;
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/** Whoever cannot keep it runs all the same. */
export function writeCachedCode(path: string, bytes: Buffer, marks: readonly string[]): void {
  const folder = dirname(path);
  const parts = `${path}.${process.pid}`;
  try {
    if (!makeFolder(folder)) return;
    const text = [MAGIC, bytes.length, sumOf(bytes), marks.slice(-MOST_MARKS).join(' ')].join('\n');
    if (text.length > HEADER_BYTES) return;
    // A limit of file sizes ends a program that does not look.
    process.on('SIGXFSZ', () => {});
    const fd = openSync(parts, 'wx', 0o600);
    try {
      writeFileSync(fd, Buffer.concat([Buffer.from(text.padEnd(HEADER_BYTES)), bytes]));
    } finally {
      closeSync(fd);
    }
    renameSync(parts, path);
    removeOthers(folder);
  } catch {
    removeQuietly(parts);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // There is no such folder.
  }
}

interface Owned {
  uid: number;
  mode: number;
}

/** This user's, and written by nobody else. */
function isOurs({ uid, mode }: Owned): boolean {
  return uid === process.geteuid?.() && (mode & 0o022) === 0;
}

/** False: it lies below a folder of somebody else, as with `sudo -E`. */
function makeFolder(folder: string): boolean {
  const own = dirname(folder);
  const base = dirname(own);
  const isThere = statSync(base, { throwIfNoEntry: false });
  if ((isThere ?? statSync(dirname(base))).uid !== process.geteuid?.()) return false;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return isOurs(lstatSync(own)) && isOurs(lstatSync(folder));
}

/** What other builds, flags and versions have left. */
function removeOthers(folder: string): void {
  const oldest = Date.now() - KEPT_MS;
  const own = dirname(folder);
  const isOfBuild = (name: string) => name.startsWith('code-') && join(own, name) !== folder;
  removeAllBut(own, readdirSync(own).filter(isOfBuild), MOST_BUILDS - 1, oldest);
  removeAllBut(folder, readdirSync(folder), MOST_FILES, oldest);
}

function removeAllBut(folder: string, names: readonly string[], count: number, oldestMs: number): void {
  const entries = names.map((name) => {
    const path = join(folder, name);
    return { path, timeMs: lstatSync(path).mtimeMs };
  });
  entries.sort((one, other) => other.timeMs - one.timeMs);
  entries.forEach(({ path, timeMs }, row) => {
    if (row >= count || timeMs < oldestMs) rmSync(path, { recursive: true, force: true });
  });
}

function sumOf(bytes: Buffer): number {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  let sum = bytes.length;
  for (let at = 0; at < words.length; at += WORDS_BETWEEN_SUMMED) sum = (Math.imul(sum, 31) + words[at]!) | 0;
  return sum;
}
