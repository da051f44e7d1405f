import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { CounterpointError, printable } from '@counterpoint/core/base';
import { type CpuIdentity, matchMapFile, type ProblemList, parseVendorEvents } from '@counterpoint/core/pmus';
import { type EventTable, tableCpu } from './table-cpu.ts';
import { TableMap } from './table-map.ts';

/**
 * What is read of a tree at most: Intel's whole collection is some 1,500 files of 400
 * MB, of which one CPU has five.
 */
const LIMITS = { depth: 8, files: 2000, entries: 50_000, fileBytes: 64 << 20, bytes: 256 << 20 };
/** A map lies beside the folders of its tables, or one more above. */
const MAP_IS_ABOVE = 3;
const MOST_MAP_BYTES = 4 << 20;

export type VendorFileLimits = typeof LIMITS;

export interface VendorFiles {
  readonly tables: readonly EventTable[];
  /** Rows that are no events: metrics. */
  readonly skipped: number;
}

/**
 * Tables of vendors from one file, or from all of a directory. Where a `mapfile.csv` says which table is for
 * which CPU, of its directory only those of this machine's CPU are read; a file that is named itself is read,
 * and the map above it says whose it is.
 *
 * Throws where the path itself cannot be read; everything inside that cannot is a problem with its place.
 */
export function readVendorFiles(
  path: string,
  identities: readonly CpuIdentity[],
  problems: ProblemList,
  limits: Partial<VendorFileLimits> = {},
): VendorFiles {
  const start = resolve(path);
  const facts = rootFacts(path, start);
  const base = facts.isDirectory() ? start : dirname(start);
  const reading = new VendorReading(base, identities, problems, { ...LIMITS, ...limits });
  const map = reading.mapAbove(start);
  if (facts.isDirectory()) reading.readDirectory(start, 0, map);
  else reading.readTable(start, map);
  return { tables: reading.tables, skipped: reading.skipped };
}

function rootFacts(path: string, start: string): Stats {
  const refuse = (why: string) =>
    new CounterpointError(
      'ERR_EVENT_TABLES',
      `event tables cannot be read from ${printable(path)}: ${why}`,
      "Name a JSON file of events, or a directory of them: Intel's perfmon, Arm's telemetry, perf's pmu-events.",
    );
  let facts: Stats;
  try {
    facts = statSync(start);
  } catch (error) {
    throw refuse(reasonOf(error));
  }
  if (!facts.isDirectory() && !facts.isFile()) throw refuse('it is neither a file nor a directory');
  return facts;
}

class VendorReading {
  readonly tables: EventTable[] = [];
  skipped = 0;
  /** What places are told from. */
  readonly #base: string;
  readonly #identities: readonly CpuIdentity[];
  readonly #problems: ProblemList;
  readonly #limits: VendorFileLimits;
  /** Files and directories by device and inode: links that lead back, and files that have two names. */
  readonly #seen = new Set<string>();
  #entries = 0;
  #bytes = 0;
  #isFull = false;

  constructor(
    base: string,
    identities: readonly CpuIdentity[],
    problems: ProblemList,
    limits: VendorFileLimits,
  ) {
    this.#base = base;
    this.#identities = identities;
    this.#problems = problems;
    this.#limits = limits;
  }

  /** The map of the collection that a path is inside of. */
  mapAbove(path: string): TableMap | null {
    let dir = dirname(path);
    for (let level = 0; level < MAP_IS_ABOVE; level++, dir = dirname(dir)) {
      const map = this.#mapIn(dir);
      if (map?.names(path)) return map;
    }
    return null;
  }

  readDirectory(dir: string, depth: number, map: TableMap | null): void {
    if (this.#isFull || !this.#isNew(dir)) return;
    if (depth > this.#limits.depth) {
      this.#problems.add(dir, `deeper than ${this.#limits.depth} directories, so it was not read`);
      return;
    }
    const own = this.#mapIn(dir);
    if (own !== null) {
      this.#readMapped(dir, depth, own);
      return;
    }
    for (const name of this.#list(dir)) {
      if (this.#isFull) return;
      const path = join(dir, name);
      const facts = this.#stat(path);
      if (facts?.isDirectory()) this.readDirectory(path, depth + 1, map);
      else if (facts !== null && name.endsWith('.json')) this.readTable(path, map);
    }
  }

  readTable(path: string, map: TableMap | null): void {
    if (this.#isFull || !this.#isNew(path)) return;
    if (this.tables.length >= this.#limits.files) {
      this.#fill(path, `more than ${this.#limits.files} tables; the rest was not read`);
      return;
    }
    const text = this.#read(path, this.#limits.fileBytes);
    if (text === null) return;
    const parsed = parseVendorEvents(text, printable(relative(this.#base, path)));
    this.#problems.addAll(parsed);
    this.skipped += parsed.skipped;
    if (parsed.events.length === 0) return;
    const cpu = tableCpu(parsed, map?.rowsOf(path) ?? [], this.#identities);
    this.tables.push({ path, events: parsed.events, ...cpu });
  }

  /** The tables that a map names for this machine. */
  #readMapped(dir: string, depth: number, map: TableMap): void {
    const rows = new Set(this.#identities.flatMap((identity) => matchMapFile(map, identity)));
    let found = 0;
    for (const row of rows) {
      const path = map.targetOf(row);
      // Other kinds are metrics, or matrices of requests, which have another form.
      if (path === null || !/^(?:hybrid|un)?core\b/i.test(row.type)) continue;
      const facts = this.#stat(path);
      if (facts === null) continue;
      found++;
      if (facts.isDirectory()) this.readDirectory(path, depth + 1, map);
      else this.readTable(path, map);
    }
    if (found === 0)
      this.#problems.add(join(dir, 'mapfile.csv'), 'it names no table for the CPU of this machine');
  }

  #mapIn(dir: string): TableMap | null {
    const path = join(dir, 'mapfile.csv');
    if (!isFile(path)) return null;
    const text = this.#read(path, MOST_MAP_BYTES);
    return text === null ? null : TableMap.read(text, dir, this.#problems);
  }

  #isNew(path: string): boolean {
    const facts = this.#stat(path);
    if (facts === null) return false;
    const key = `${facts.dev}:${facts.ino}`;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }

  #list(dir: string): string[] {
    let names: string[];
    try {
      names = readdirSync(dir).sort();
    } catch (error) {
      this.#problems.add(dir, reasonOf(error));
      return [];
    }
    this.#entries += names.length;
    if (this.#entries <= this.#limits.entries) return names;
    this.#fill(dir, `more than ${this.#limits.entries} files; the rest was ignored`);
    return [];
  }

  #stat(path: string): Stats | null {
    try {
      return statSync(path);
    } catch (error) {
      this.#problems.add(path, reasonOf(error));
      return null;
    }
  }

  #fill(place: string, what: string): void {
    this.#isFull = true;
    this.#problems.add(place, what);
  }

  /**
   * The text of a regular file; nothing else is opened, as it could wait (a FIFO) or do something (a device).
   */
  #read(path: string, mostBytes: number): string | null {
    try {
      if (!isFile(path)) throw new Error('not a regular file');
      const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const { size } = fstatSync(file);
        const most = Math.min(mostBytes, this.#limits.bytes - this.#bytes);
        if (size > most) throw new Error(`${size} bytes are more than the limit (${most})`);
        const bytes = readWhole(file, size);
        this.#bytes += bytes.length;
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      this.#problems.add(path, reasonOf(error));
      return null;
    }
  }
}

function readWhole(file: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  while (at < size) {
    const count = readSync(file, bytes, at, size - at, at);
    if (count === 0) break;
    at += count;
  }
  return bytes.subarray(0, at);
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Absent, or not for us to see.
    return false;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'this user may not read it';
    case 'ELOOP':
      return 'its links lead in a circle';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'not text in UTF-8';
    default:
      return message;
  }
}
