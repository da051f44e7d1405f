import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Archive, openArchive } from '@counterpoint/core/archive';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import { passingFile } from '../leftovers/index.ts';
import { type FileSource, openFileSource } from '../locate/index.ts';
import { bunzip2, isBzip2 } from './bzip2.ts';

const PIECE_BYTES = 1 << 20;
/** A small file can be made to inflate without end. */
const MOST_INFLATED_BYTES = 32 * 2 ** 30;
/** Where a tar has `ustar`. */
const TAR_MAGIC_AT = 257;

/** The archive that a file is; null where it is something else. `close` closes both. */
export async function openArchiveFile(
  source: FileSource,
): Promise<{ archive: Archive; close(): Promise<void> } | null> {
  const start = await source.read(0, TAR_MAGIC_AT + 5);
  const isGzip = start[0] === 0x1f && start[1] === 0x8b;
  if (isGzip || isBzip2(start)) {
    const inflated = await inflatedFile(source, isGzip);
    try {
      const archive = await openArchive(inflated);
      const close = async () => void (await Promise.all([inflated.close(), source.close()]));
      return { archive, close };
    } catch (error) {
      await inflated.close();
      throw error;
    }
  }
  if (new TextDecoder('latin1').decode(start.subarray(TAR_MAGIC_AT)) !== 'ustar') return null;
  return { archive: await openArchive(source), close: () => source.close() };
}

/** The content in a file that has no name. */
async function inflatedFile(source: FileSource, isGzip: boolean): Promise<FileSource> {
  await using file = await passingFile('archive');
  const output = createWriteStream(file.path);
  if (isGzip)
    await pipeline(Readable.from(piecesOf(source)), createGunzip(), limited(), output).catch(refuse);
  else {
    const bytes = await source.read(0, source.size);
    await pipeline(Readable.from(copiesOf(bunzip2(bytes))), output);
  }
  return await openFileSource(file.path);
}

async function* piecesOf(source: ByteSource): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < source.size; at += PIECE_BYTES) yield await source.read(at, PIECE_BYTES);
}

function limited(): Transform {
  let size = 0;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      size += piece.length;
      done(
        size > MOST_INFLATED_BYTES ? new Error(`it has more than ${MOST_INFLATED_BYTES} bytes`) : null,
        piece,
      );
    },
  });
}

/** A block is borrowed until the next one is asked for, and a stream asks ahead. */
function* copiesOf(blocks: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const block of blocks) yield block.slice();
}

/** Errors of zlib are about the file; those of the disk are not. */
function refuse(error: NodeJS.ErrnoException): never {
  if (error.code !== undefined && !error.code.startsWith('Z_')) throw error;
  throw new CounterpointError(
    'ERR_ARCHIVE',
    `the archive cannot be inflated: ${error.message}`,
    'Copy it again: it is damaged or cut off.',
  );
}
