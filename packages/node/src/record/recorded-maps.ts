import { closeSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { RECORDED_PERF_MAP, type RecordedFile } from '@counterpoint/core/jit';
import { isTrusted, NamedFile, presentBytes, requireRegular } from '../files/index.ts';
import { addNote, type Note } from '../perf-events/index.ts';

/** Where a process writes the map of its generated code, and who it is. */
export interface MapOwner {
  pid: number;
  /** Where it may be, the likeliest first. */
  paths: readonly string[];
  /** Whose process it is. */
  uid: number;
  /** When it began, by the wall clock; null: unknown. */
  startMs: number | null;
}

const MOST_MAP_BYTES = 64 << 20;
/** Of all together, compressed. */
const MOST_PACKED_BYTES = 64 << 20;
/** Files have times of the last tick. */
const CLOCK_SLACK_MS = 1000;
const NEWLINE = 0x0a;
const compress = promisify(deflate);

/**
 * The maps of generated code for the recording, so that its names are there wherever it is read. What is too
 * large is told in `notes`.
 */
export async function packPerfMaps(owners: Iterable<MapOwner>, notes: Note[]): Promise<RecordedFile[]> {
  const files: RecordedFile[] = [];
  let left = MOST_PACKED_BYTES;
  const large: MapOwner[] = [];
  for (const owner of owners) {
    const { pid } = owner;
    const map = readMap(owner);
    if (map === null || map.length === 0) continue;
    const packed = map.length > MOST_MAP_BYTES ? null : new Uint8Array(await compress(map));
    if (packed === null || packed.length > left) {
      large.push(owner);
      continue;
    }
    left -= packed.length;
    files.push({ kind: RECORDED_PERF_MAP, pid, sizeBytes: map.length, packed });
  }
  if (large.length > 0) {
    const [{ pid, paths }] = large as [MapOwner];
    const who = large.length === 1 ? `process ${pid}` : `process ${pid} and ${large.length - 1} more`;
    const text = `the names of generated code of ${who} are not in the recording, because they are too large: read it on this machine, or take ${paths[0]} along`;
    addNote(notes, { kind: 'perf-map', text });
  }
  return files;
}

function readMap(owner: MapOwner): Uint8Array<ArrayBuffer> | null {
  for (const path of owner.paths) {
    try {
      const map = readMapAt(path, owner);
      if (map !== null) return map;
    } catch {
      // Not there, or not readable: reports say that there is none.
    }
  }
  return null;
}

/**
 * Whole lines of the map: a process that goes on may be writing one. A map of an earlier process of that
 * number is not its map. Longer ones are cut to one byte more than is allowed.
 */
function readMapAt(path: string, { uid, startMs }: MapOwner): Uint8Array<ArrayBuffer> | null {
  using file = new NamedFile(path, { followLink: false });
  requireRegular(file, { recorded: true });
  const { facts } = file;
  const isOwn = (facts.uid === uid || isTrusted(facts.uid)) && facts.nlink === 1;
  const isStale = startMs !== null && facts.mtimeMs < startMs - CLOCK_SLACK_MS;
  if (!isOwn || isStale || presentBytes(facts) < facts.size) return null;
  const bytes = new Uint8Array(Math.min(facts.size, MOST_MAP_BYTES + 1));
  const fd = file.openSync();
  let used = 0;
  try {
    for (let read = -1; read !== 0 && used < bytes.length; used += read)
      read = readSync(fd, bytes, used, bytes.length - used, null);
  } finally {
    closeSync(fd);
  }
  return used > MOST_MAP_BYTES ? bytes : bytes.subarray(0, bytes.lastIndexOf(NEWLINE, used - 1) + 1);
}
