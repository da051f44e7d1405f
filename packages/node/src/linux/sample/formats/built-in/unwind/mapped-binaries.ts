/**
 * The code that processes have mapped, read from outside: into `spaces`, with the tables of its files.
 */
import { statSync } from 'node:fs';
import { type ByteSource, CounterpointError, FormatError, memorySource } from '@counterpoint/core/base';
import { openElf } from '@counterpoint/core/elf';
import { type FlatTable, flattenInSteps } from '@counterpoint/core/unwind';
import { openFileSource, readVdso } from '../../../../../host/locate/index.ts';
import { type BpfMap, indexKey } from '../../../../kernel/bpf/index.ts';
import { type MappedArea, parseMappedAreas, readProc } from '../../../../kernel/target/index.ts';
import type { FormatMaps } from '../../format.ts';
import { CodeMapping, MOST_MAPPINGS, MOST_PROCESSES, SPACE_BYTES, Space } from './address-spaces.ts';
import { FrameTables, NO_TABLES, type TablePlace } from './frame-tables.ts';

const VDSO = '[vdso]';
const USER_LIMIT = 1n << 56n;
const UNREADABLE = 'it cannot be read';

/** A file with code. */
interface CodeFile {
  readonly path: string;
  /** Null: it waits to be read, or cannot be read: stacks through it are copied. */
  tables: TablePlace | null;
  /** Why its frames are not found by its frame information; empty: they are. */
  why: string;
}

/** How stacks are unwound in a file. */
export interface UnwoundFile {
  readonly path: string;
  readonly way: 'frame information' | 'frame pointers' | 'copies';
  readonly why: string;
}

/** Memory need not be closed. */
type OpenBytes = ByteSource & { close?(): Promise<void> };

/** A file that waits to be read. It is open, since its process may end before. */
interface WaitingFile {
  readonly file: CodeFile;
  readonly sizeBytes: number;
  readonly bytes: Promise<OpenBytes | null>;
}

/** A file that is read piece by piece. */
interface LoadingFile {
  readonly file: CodeFile;
  readonly steps: Generator<undefined, FlatTable>;
}

/** The rings are to be emptied between pieces. */
const PIECE_MS = 25;
/** Of the time, at most this part is for second looks at processes whose binaries are there by and by. */
const LOOKS_SHARE = 0.1;
/** A process that is asked for again and again, and has nothing new, is looked at so often at most. */
const LONGEST_REST_MS = 320;
const FIRST_REST_MS = 20;

/** What the last look at a process found. */
interface Look {
  /** A checksum of what was written into `spaces`. */
  readonly sum: number;
  readonly atMs: number;
  /** Until the next one, if it is the same again. */
  readonly restMs: number;
}

export class MappedBinaries {
  readonly #tables: FrameTables;
  readonly #spaces: BpfMap;
  /** By device, inode, size and time. */
  readonly #files = new Map<string, CodeFile>();
  /** The smallest first. */
  readonly #waiting: WaitingFile[] = [];
  #loading: LoadingFile | null = null;
  /** Processes that have mapped a file that waits. */
  readonly #incomplete = new Set<number>();
  /** In `spaces`. */
  readonly #known = new Map<number, Look>();
  #lookAgainMs = 0;

  constructor(maps: FormatMaps) {
    this.#tables = new FrameTables(maps);
    this.#spaces = maps.get('spaces')!;
  }

  /** The kernel asks for a process: where nothing was new at the last look, the next one may have to wait. */
  ask(pid: number): void {
    const last = this.#known.get(pid);
    if (last === undefined || performance.now() - last.atMs >= last.restMs) this.look(pid);
  }

  /** A look at a process. What of its code is not known yet is read by `loadNext`. */
  look(pid: number): void {
    // The page of vsyscalls is above all that is a process's own, and the search reckons with a sign.
    const areas = joinNameless(
      parseMappedAreas(readProc(`${pid}/maps`) ?? '').filter(({ start }) => start < USER_LIMIT),
    );
    if (areas.length === 0) return;
    this.#incomplete.delete(pid);
    const space = new Uint8Array(SPACE_BYTES);
    const view = new DataView(space.buffer);
    const { fields } = CodeMapping;
    const count = Math.min(areas.length, MOST_MAPPINGS);
    for (let index = 0; index < count; index++) {
      const area = areas[index]!;
      const at = Space.sizeBytes + index * CodeMapping.sizeBytes;
      const file = this.#fileOf(area, pid);
      const { firstPage, pages, basePage } = file.tables ?? NO_TABLES;
      if (file.tables === null) this.#incomplete.add(pid);
      const { start, length, pageOffset } = area;
      view.setBigUint64(at + fields.start.offsetBytes, start, true);
      view.setBigUint64(at + fields.end.offsetBytes, start + length, true);
      view.setBigUint64(at + fields.bias.offsetBytes, BigInt.asUintN(64, start - pageOffset), true);
      view.setUint32(at + fields.firstPage.offsetBytes, firstPage, true);
      view.setUint32(at + fields.pages.offsetBytes, pages, true);
      view.setUint32(at + fields.basePage.offsetBytes, basePage, true);
      view.setUint32(at + fields.waits.offsetBytes, file.tables === null ? 1 : 0, true);
    }
    view.setBigUint64(Space.fields.count.offsetBytes, BigInt(count), true);
    this.#spaces.update(indexKey(pid), space);
    this.#rest(pid, checksum(space.subarray(0, Space.sizeBytes + count * CodeMapping.sizeBytes)));
    this.#sweep();
  }

  /** How long nobody has to look again. */
  #rest(pid: number, sum: number): void {
    const last = this.#known.get(pid);
    const isSame = last?.sum === sum && !this.#incomplete.has(pid);
    const restMs = isSame ? Math.min(2 * last.restMs, LONGEST_REST_MS) : FIRST_REST_MS;
    this.#known.set(pid, { sum, atMs: performance.now(), restMs });
  }

  #fileOf(area: MappedArea, pid: number): CodeFile {
    if (isNameless(area)) return NO_FILE;
    const { path, key, sizeBytes } = area.path === VDSO ? VDSO_FILE : identified(area, pid);
    let file = this.#files.get(key);
    if (file === undefined) {
      file = { path: area.path, tables: null, why: 'it was not read before the end' };
      this.#files.set(key, file);
      const bytes = path === VDSO ? vdsoSource() : openFileSource(path).catch(() => null);
      const larger = this.#waiting.findIndex((one) => one.sizeBytes > sizeBytes);
      this.#waiting.splice(larger < 0 ? this.#waiting.length : larger, 0, { file, sizeBytes, bytes });
    }
    return file;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0 || this.#loading !== null;
  }

  /** Reads a piece of what waits. Who has mapped a file that is there now is looked at again. */
  async loadNext(): Promise<void> {
    this.#loading ??= await this.#begin();
    if (this.#loading !== null) this.#loadPiece(this.#loading);
    if (this.#loading !== null || this.#incomplete.size === 0) return;
    const begin = performance.now();
    if (this.isWaiting && begin < this.#lookAgainMs) return;
    for (const pid of [...this.#incomplete]) {
      this.#incomplete.delete(pid);
      this.look(pid);
    }
    const end = performance.now();
    this.#lookAgainMs = end + (end - begin) / LOOKS_SHARE;
  }

  /** Null: nothing waits, or there is nothing to read piece by piece. */
  async #begin(): Promise<LoadingFile | null> {
    const next = this.#waiting.shift();
    if (next === undefined) return null;
    const { file } = next;
    const bytes = await next.bytes;
    if (bytes === null) {
      file.why = UNREADABLE;
      return null;
    }
    try {
      const steps = await flattenInSteps(await openElf(bytes), this.#tables.flatRules);
      if (steps !== null) return { file, steps };
      file.tables = NO_TABLES;
      file.why = 'it has no frame information';
    } catch (error) {
      this.#failed(file, error);
    } finally {
      await bytes.close?.();
    }
    return null;
  }

  #loadPiece({ file, steps }: LoadingFile): void {
    try {
      const end = performance.now() + PIECE_MS;
      let step = steps.next();
      while (step.done !== true && performance.now() < end) step = steps.next();
      if (step.done !== true) return;
      const place = this.#tables.add(step.value);
      file.why = place === null ? 'there was no room for its frame information' : '';
      file.tables = place ?? NO_TABLES;
    } catch (error) {
      this.#failed(file, error);
    }
    this.#loading = null;
  }

  #failed(file: CodeFile, error: unknown): void {
    if (error instanceof FormatError) {
      file.tables = NO_TABLES;
      file.why = 'its frame information is damaged';
    } else if (error instanceof CounterpointError) file.why = UNREADABLE;
    else throw error;
  }

  /** Takes out processes that have ended, when there are many. */
  #sweep(): void {
    if (this.#known.size < MOST_PROCESSES / 2) return;
    for (const pid of this.#known.keys())
      if (readProc(`${pid}/comm`) === null) {
        this.#known.delete(pid);
        this.#spaces.delete(indexKey(pid));
      }
  }

  /** In the order in which they were met. */
  files(): UnwoundFile[] {
    return [...this.#files.values()].map(({ path, tables, why }) => ({
      path,
      way: tables === null ? 'copies' : why === '' ? 'frame information' : 'frame pointers',
      why,
    }));
  }

  /** Also files that nobody has come to read. */
  async close(): Promise<void> {
    for (const { bytes } of this.#waiting.splice(0)) await (await bytes)?.close?.();
    this.#tables[Symbol.dispose]();
  }
}

const VDSO_FILE = { path: VDSO, key: VDSO, sizeBytes: 0 };
const NO_FILE: CodeFile = { path: '', tables: NO_TABLES, why: '' };

async function vdsoSource(): Promise<OpenBytes | null> {
  const bytes = await readVdso();
  return bytes === null ? null : memorySource(bytes);
}

/**
 * Where a mapped file can be read, and what it is: not its name. The kernel's link to what is mapped also
 * leads to files that are gone, but not everybody may follow it.
 */
function identified(area: MappedArea, pid: number): { path: string; key: string; sizeBytes: number } {
  const { major, minor, inode, start, length } = area;
  const link = `/proc/${pid}/map_files/${start.toString(16)}-${(start + length).toString(16)}`;
  for (const path of [link, `/proc/${pid}/root${area.path}`])
    try {
      const { size, mtimeMs, ino } = statSync(path);
      if (BigInt(ino) === inode)
        return { path, key: `${major}:${minor} ${inode} ${size} ${mtimeMs}`, sizeBytes: size };
    } catch {
      // The next one.
    }
  return { path: link, key: `${major}:${minor} ${inode} ${area.path}`, sizeBytes: 0 };
}

/**
 * Code without a file has no tables, wherever it is: neighbours are one, with what is between them, where
 * there are very many.
 */
function joinNameless(areas: readonly MappedArea[]): readonly MappedArea[] {
  if (areas.length <= MOST_MAPPINGS) return areas;
  const joined: MappedArea[] = [];
  for (const area of areas) {
    const last = joined.at(-1);
    if (last === undefined || !isNameless(last) || !isNameless(area)) joined.push(area);
    else joined[joined.length - 1] = { ...last, length: area.start + area.length - last.start };
  }
  return joined;
}

function checksum(bytes: Uint8Array<ArrayBuffer>): number {
  let sum = 0;
  for (const word of new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2))
    sum = (Math.imul(sum, 31) + word) | 0;
  return sum;
}

function isNameless({ inode, path }: MappedArea): boolean {
  return inode === 0n && path !== VDSO;
}
