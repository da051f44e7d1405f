import { decodeUtf8, encodeUtf8, FormatError } from '../../base/index.ts';
import { decodeDataUrl, isDataUrl } from './data-url.ts';
import { type GivenName, givenNames } from './given-names.ts';
import { isNestedAtMost } from './json-depth.ts';

/**
 * The file of source maps that travels with a recording: those that were in the memory of a process and
 * nowhere else, since the code was compiled when it was loaded (tsx, ts-node, swc, esbuild-register).
 *
 *     {"version":1,"maps":[{"script":"/app/main.ts","map":"{\"version\":3, ...","names":[[2,61,"mix"]]}]}
 */
export interface RecordedSourceMap {
  /** As V8 calls the script. */
  script: string;
  /** The map as text. */
  map: string;
  /** Functions that V8 has no name of, and the code has: line and column in the code, and the name. */
  names: readonly GivenName[];
  /** Why there is no map here, though the process had one; null: there is. */
  fault: string | null;
}

const VERSION = 1;

/**
 * A map by the URL that its script has of it, without the texts of sources: nobody asks for them. `code`:
 * what ran; empty where it is not known. Null: the URL leads to a file, or what it holds is no map.
 */
export function recordedSourceMap(script: string, url: string, code = ''): RecordedSourceMap | null {
  const bytes = isDataUrl(url) ? decodeDataUrl(url) : null;
  if (bytes === null) return null;
  try {
    const json: unknown = JSON.parse(decodeUtf8(bytes));
    if (typeof json !== 'object' || json === null) return null;
    const map = JSON.stringify({ ...json, sourcesContent: undefined });
    return { script, map, names: givenNames(code), fault: null };
  } catch {
    return null;
  }
}

/** The file of a process. `decodeRecordedMaps` reads it. */
export function encodeRecordedMaps(maps: readonly RecordedSourceMap[]): Uint8Array<ArrayBuffer> {
  return encodeUtf8(JSON.stringify({ version: VERSION, maps }));
}

/** Lists of maps, of names, of a name. A file that is nested deeper is not ours. */
const MOST_DEPTH = 8;
/** Of all maps together. */
const MOST_NAMES = 1 << 22;

/** Throws FormatError where the bytes do not hold together. */
export function decodeRecordedMaps(bytes: Uint8Array): RecordedSourceMap[] {
  const fail = (expected: string) => new FormatError('ERR_SOURCE_MAPS', 0, expected, 'something else');
  let json: unknown;
  if (!isNestedAtMost(bytes, MOST_DEPTH)) throw fail('JSON of a few levels');
  try {
    json = JSON.parse(decodeUtf8(bytes));
  } catch {
    throw fail('JSON');
  }
  const { version = null, maps = null } = (json ?? {}) as { version?: unknown; maps?: unknown };
  if (version !== VERSION) throw fail(`recorded source maps of version ${VERSION}`);
  if (!Array.isArray(maps)) throw fail('a list of maps');
  let count = 0;
  return maps.map((one: unknown) => {
    const { script, map, names = [], fault = null } = (one ?? {}) as { [key: string]: unknown };
    if (typeof script !== 'string' || typeof map !== 'string') throw fail('a script and its map');
    if (Array.isArray(names) && (count += names.length) > MOST_NAMES) throw fail('fewer names');
    if (!Array.isArray(names) || !names.every(isGivenName)) throw fail('places of functions and their names');
    if (fault !== null && typeof fault !== 'string') throw fail('why there is no map');
    return { script, map, names, fault };
  });
}

function isGivenName(value: unknown): value is GivenName {
  if (!Array.isArray(value)) return false;
  const [line, column, name]: unknown[] = value;
  return typeof line === 'number' && typeof column === 'number' && typeof name === 'string';
}
