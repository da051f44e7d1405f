import {
  asByteInput,
  type ByteInput,
  type ByteSource,
  CounterpointError,
  checkArgument,
} from '../../../base/index.ts';
import { MissingFiles } from './missing-files.ts';

/** The header of a recording of several files, and what it holds itself. */
const HEADER_NAME = 'data';
/** What each ring brought: `data.0`, `data.1`, ... */
const RING_NAME = /^data\.(0|[1-9]\d{0,4})$/;

/** One file of a recording. */
export interface RecordingFile {
  /** As in the directory, without its path. */
  name: string;
  /** Its bytes. */
  bytes: ByteInput;
}

/** A file that is there and cannot be read. */
export interface UnreadableFile {
  /** The name of the file. */
  name: string;
  /** Why, as a code of damage: `link-not-followed`. */
  code: string;
}

/** Where a file of a directory stands in the joined source. */
export interface DirectoryPart {
  /** The name of the file. */
  name: string;
  /** The number of its ring; -1 for the header. */
  ring: number;
  /** Where it begins among all bytes of the directory. */
  start: number;
  /** Its size in bytes. */
  size: number;
}

/** The files of a directory, one after the other: an offset names a place in one of them. */
export interface DirectorySource extends ByteSource {
  /** The files, in the order of their bytes. */
  readonly parts: readonly DirectoryPart[];
  /** The first file alone: a header of a killed recorder says that data goes on to the end of its file. */
  readonly header: ByteSource;
  /**
   * What finds out, in one scan, which files are missing.
   *
   * @internal
   */
  missingFiles(): MissingFiles;
}

/** Whether a directory of `perf record --threads` (and `--kcore`) has its records in a file of this name. */
export function isRecordingFile(name: string): boolean {
  return name === HEADER_NAME || RING_NAME.test(name);
}

/**
 * The directory that `perf record --threads` makes, as one source for `openPerfData`: `data` has the header,
 * `data.0`, `data.1`, ... the records of a ring each. Files of other names are left aside, so that all files
 * of a directory can be given as a browser has them: `directorySource([...input.files].map((file) => ({ name:
 * file.name, bytes: file })))`. Throws ERR_NO_HEADER_FILE without `data`, ERR_INPUT for streams.
 */
export function directorySource(
  files: Iterable<RecordingFile>,
  unreadable: readonly UnreadableFile[] = [],
): DirectorySource {
  const found = new Map<number, { name: string; source: ByteSource }>();
  const isList = typeof files === 'object' && files !== null && Symbol.iterator in files;
  checkArgument(isList, 'directorySource()', 'files', files, 'a list of { name, bytes }');
  for (const { name, bytes } of files) {
    if (!isRecordingFile(name)) continue;
    const source = asByteInput(bytes);
    if (Symbol.asyncIterator in source)
      throw new CounterpointError(
        'ERR_INPUT',
        `${name} is a stream, but files of a directory are read side by side`,
        'Give a source with random access: bytes in memory, a Blob or a ByteSource.',
      );
    found.set(ringOf(name), { name, source });
  }
  if (!found.has(-1)) {
    throw new CounterpointError(
      'ERR_NO_HEADER_FILE',
      `the directory has no file \`${HEADER_NAME}\``,
      'A directory of `perf record --threads` has its header in that file: give all of its files.',
    );
  }
  const sources = [...found].sort(([a], [b]) => a - b).map(([ring, file]) => ({ ring, ...file }));
  let size = 0;
  const parts = sources.map(({ ring, name, source }) => {
    const part = { name, ring, start: size, size: source.size };
    size += source.size;
    return part;
  });
  const partAt = (offset: number) => parts.findLastIndex(({ start }) => start <= offset);
  const codes = unreadable
    .filter(({ name }) => RING_NAME.test(name))
    .map(({ name, code }) => [ringOf(name), code] as const);
  return {
    size,
    parts,
    header: sources[0]!.source,
    missingFiles: () =>
      new MissingFiles(
        parts.map(({ ring }) => ring),
        new Map(codes),
      ),
    async read(offset, length) {
      const at = partAt(offset);
      const { start, size: own } = parts[at]!;
      const first = await sources[at]!.source.read(
        offset - start,
        Math.min(length, Math.max(0, start + own - offset)),
      );
      if (first.length >= length || offset + length <= start + own || at + 1 === parts.length) return first;
      // Records are inside of one file; who reads on gets what follows, as from one file.
      const rest = await this.read(start + own, length - first.length);
      const joined = new Uint8Array(first.length + rest.length);
      joined.set(first);
      joined.set(rest, first.length);
      return joined;
    },
  };
}

/** Number of the ring that a file of this name is of; -1 for others. */
function ringOf(name: string): number {
  return Number(RING_NAME.exec(name)?.[1] ?? -1);
}
