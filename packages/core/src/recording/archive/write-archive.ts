import type { ByteSource } from '../../base/index.ts';
import type { FileRequest } from '../../code/symbols/index.ts';
import {
  buildIdLink,
  FILES_FOLDER,
  folderOf,
  INDEX_NAME,
  INDEX_VERSION,
  type IndexRow,
  nameInFolder,
  RECORDING_NAME,
} from './layout.ts';
import { tarEnd, tarHead, tarPadding } from './tar-writer.ts';

const PIECE_BYTES = 1 << 20;

/** A file of an archive, and the question that it answers. */
export interface ArchivedFile {
  /** As readers of the recording asked for it. */
  readonly request: Omit<FileRequest, 'required'>;
  /** Its bytes. */
  readonly bytes: ByteSource;
}

/**
 * An archive of a recording and the files that name it, as a tar, in pieces. Files whose build ids are known
 * stand where `perf archive` puts them: `tar xf FILE -C ~/.debug` gives them to perf.
 */
export async function* writeArchive(
  recording: ByteSource,
  files: readonly ArchivedFile[],
  timeSeconds: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const rows: IndexRow[] = [];
  const entries = new Map<string, ArchivedFile>();
  for (const file of files) {
    const { need, path, buildId, pid } = file.request;
    const name = nameInFolder(file.request);
    const entry = name === null ? `${FILES_FOLDER}${rows.length}` : `${folderOf(file.request)}/${name}`;
    rows.push({ need, path, buildId, pid, entry });
    if (!entries.has(entry)) entries.set(entry, file);
  }
  const index = new TextEncoder().encode(
    `${JSON.stringify({ version: INDEX_VERSION, files: rows }, null, 1)}\n`,
  );
  yield tarHead({ name: INDEX_NAME, size: index.length, timeSeconds });
  yield index;
  yield tarPadding(index.length);
  yield* fileEntry(RECORDING_NAME, recording, timeSeconds);
  const linked = new Set<string>();
  for (const [entry, { request, bytes }] of entries) {
    const { buildId } = request;
    if (!entry.startsWith(FILES_FOLDER) && !linked.has(buildId)) {
      linked.add(buildId);
      const linkTarget = `../../${folderOf(request)}`;
      yield tarHead({ name: buildIdLink(buildId), size: 0, linkTarget, timeSeconds });
    }
    yield* fileEntry(entry, bytes, timeSeconds);
  }
  yield tarEnd();
}

/** A file that became shorter meanwhile is filled up with zeros: its size is written already. */
async function* fileEntry(
  name: string,
  bytes: ByteSource,
  timeSeconds: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { size } = bytes;
  yield tarHead({ name, size, timeSeconds });
  for (let at = 0; at < size; ) {
    const piece = await bytes.read(at, Math.min(PIECE_BYTES, size - at));
    yield piece.length > 0 ? piece : new Uint8Array(Math.min(PIECE_BYTES, size - at));
    at += piece.length > 0 ? piece.length : Math.min(PIECE_BYTES, size - at);
  }
  yield tarPadding(size);
}
