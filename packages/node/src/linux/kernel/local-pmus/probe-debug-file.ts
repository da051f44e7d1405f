import { realpathSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { buildIdOfNotes, type ElfSymbols, SHT_SYMTAB } from '@counterpoint/core/elf';
import { debugFilePaths } from '../../../host/locate/index.ts';
import { ProbeElf } from './probe-elf.ts';

const PIECE_BYTES = 1 << 20;
/** `/proc/PID/root/PATH`: a path as that process sees it. */
const OF_PROCESS = /^(\/proc\/\d+\/root)(\/.*)$/;

/** What tells which debug file is that of a binary. */
interface Identity {
  /** Hex, or empty. */
  buildId: string;
  debugLink: { name: string; crc: number } | null;
}

/**
 * The symbols that `strip` took out of a binary, from its debug file: by build id, or by the name and
 * checksum in `.gnu_debuglink`. Null where there is no such file, or it is another build's.
 */
export function symbolsOfDebugFile(path: string, binary: ProbeElf): ElfSymbols | null {
  const identity = identityOf(binary);
  if (identity.buildId === '' && identity.debugLink === null) return null;
  const [, root = '', inside = ''] = OF_PROCESS.exec(path) ?? [];
  const place = root === '' ? realPath(path) : inside;
  for (const candidate of debugFilePaths({ path: place, ...identity }, root)) {
    const debug = openQuietly(candidate);
    if (debug === null) continue;
    try {
      const symbols = belongs(debug, identity) ? debug.symbols(SHT_SYMTAB) : null;
      if (symbols !== null) return symbols;
    } finally {
      debug.close();
    }
  }
  return null;
}

function identityOf(file: ProbeElf): Identity {
  const note = file.sectionNamed('.note.gnu.build-id');
  const link = file.sectionNamed('.gnu_debuglink');
  return {
    buildId: note === null ? '' : buildIdOfNotes(file.bytesOf(note), true),
    debugLink: link === null ? null : readLink(file.bytesOf(link)),
  };
}

/** A name, NUL, padding to 4, CRC-32. */
function readLink(bytes: Uint8Array<ArrayBuffer>): Identity['debugLink'] {
  const end = bytes.indexOf(0);
  if (end <= 0 || bytes.length < 8) return null;
  const name = new TextDecoder().decode(bytes.subarray(0, end));
  // A path would reach outside the debug directories; the format has plain names only.
  if (name.includes('/')) return null;
  return { name, crc: new DataView(bytes.buffer).getUint32(bytes.length - 4, true) };
}

function belongs(debug: ProbeElf, { buildId, debugLink }: Identity): boolean {
  const found = identityOf(debug).buildId;
  if (buildId !== '' && found !== '') return found === buildId;
  if (debugLink === null) return false;
  let crc = 0;
  for (const piece of debug.pieces(PIECE_BYTES)) crc = crc32(piece, crc);
  return crc === debugLink.crc;
}

/** Where nothing is, or what cannot be read, is no debug file. */
function openQuietly(path: string): ProbeElf | null {
  try {
    return ProbeElf.open(path);
  } catch {
    return null;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
