import { closeSync, lstatSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import { RECORDED_PERF_MAP, type RecordedFile } from '@counterpoint/core/jit';
import {
  isOfEarlierProcess,
  NamedFile,
  presentBytes,
  requireRegular,
  whyForeignMap,
} from '../../../host/files/index.ts';
import { addNote, type Note } from '../../kernel/perf-events/index.ts';

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
const NEWLINE = 0x0a;
const compress = promisify(deflate);

export interface PackedMaps {
  files: RecordedFile[];
  /** When processes began whose map is not among the files, in milliseconds since 1970. */
  starts: Map<number, number>;
}

/** The map was last written before its process began. */
const EARLIER = 'earlier';

/**
 * The maps of generated code for the recording, so that its names are there wherever it is read. What is too
 * large, of an earlier process, or of another user, is told in `notes`. Of processes without a map it says
 * when they began: who finds one later can judge whose it is.
 */
export async function packPerfMaps(owners: Iterable<MapOwner>, notes: Note[]): Promise<PackedMaps> {
  const files: RecordedFile[] = [];
  const starts = new Map<number, number>();
  let left = MOST_PACKED_BYTES;
  const large: MapOwner[] = [];
  const stale: MapOwner[] = [];
  let foreign: string | null = null;
  for (const owner of owners) {
    const { pid, startMs } = owner;
    const map = readMap(owner);
    if (map === EARLIER) stale.push(owner);
    if (map === null) foreign ??= foreignOf(owner);
    if (startMs !== null) starts.set(pid, startMs);
    if (map === EARLIER || map === null || map.length === 0) continue;
    const packed = map.length > MOST_MAP_BYTES ? null : new Uint8Array(await compress(map));
    if (packed === null || packed.length > left) {
      large.push(owner);
      continue;
    }
    left -= packed.length;
    starts.delete(pid);
    files.push({ kind: RECORDED_PERF_MAP, pid, sizeBytes: map.length, packed });
  }
  if (foreign !== null) addNote(notes, { kind: 'perf-map', text: foreign });
  if (stale.length > 0) {
    const [{ pid, paths }] = stale as [MapOwner];
    const who = stale.length === 1 ? '' : `, and ${stale.length - 1} more like it`;
    const text = `${paths[0]} is older than process ${pid}: an earlier process with the same number wrote it, so it was not used${who} (remove it if nobody needs it)`;
    addNote(notes, { kind: 'perf-map', text });
  }
  if (large.length > 0) {
    const [{ pid, paths }] = large as [MapOwner];
    const who = large.length === 1 ? `process ${pid}` : `process ${pid} and ${large.length - 1} more`;
    const text = `the names of generated code of ${who} are not in the recording, because they are too large: read it on this machine, or take ${paths[0]} along`;
    addNote(notes, { kind: 'perf-map', text });
  }
  return { files, starts };
}

/** What is where the map would be; null: nothing. */
function foreignOf({ pid, paths, uid }: MapOwner): string | null {
  for (const path of paths) {
    const facts = lstatSync(path, { throwIfNoEntry: false });
    const why = facts === undefined ? null : whyForeignMap(facts, uid);
    if (why !== null)
      return `${path} ${why}: it names nothing of process ${pid}, and was not read (remove it, or find out who put it there)`;
  }
  return null;
}

function readMap(owner: MapOwner): Uint8Array<ArrayBuffer> | typeof EARLIER | null {
  let isStale = false;
  for (const path of owner.paths) {
    try {
      const map = readMapAt(path, owner);
      isStale ||= map === EARLIER;
      if (map !== null && map !== EARLIER) return map;
    } catch {
      // Not there, or not readable: reports say that there is none.
    }
  }
  return isStale ? EARLIER : null;
}

/**
 * Whole lines of the map: a process that goes on may be writing one. A map of an earlier process of that
 * number is not its map. Longer ones are cut to one byte more than is allowed.
 */
function readMapAt(
  path: string,
  { uid, startMs }: MapOwner,
): Uint8Array<ArrayBuffer> | typeof EARLIER | null {
  using file = new NamedFile(path, { followLink: false });
  requireRegular(file, { recorded: true });
  const { facts } = file;
  if (whyForeignMap(facts, uid) !== null || presentBytes(facts) < facts.size) return null;
  if (isOfEarlierProcess(facts.mtimeMs, startMs)) return EARLIER;
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
