import { createGzip } from 'node:zlib';
import { writeArchive } from '@counterpoint/core/archive';
import { CounterpointError, printable } from '@counterpoint/core/base';
import { diskDriver, openFileSource } from '../../../host/locate/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { writeChunks } from '../../common/export-file.ts';
import { formatBytes } from '../../common/human.ts';
import { ProgressLine } from '../../common/progress.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { ArchiveName } from './archive.ts';
import { CapturedFiles } from './captured-files.ts';
import { unpackArchive } from './unpack.ts';

type Context = VerbContext<ArchiveName>;

export async function runArchive(context: Context): Promise<number> {
  const { args } = context;
  const unpacked = args.string('unpack');
  if (unpacked === undefined) return await makeArchive(context);
  if (args.words.length > 0 || args.has('input') || args.has('output'))
    throw new UsageError('--unpack takes one archive, and makes none');
  return await unpackArchive(unpacked, context);
}

async function makeArchive({ args, out, err }: Context): Promise<number> {
  const [input = 'perf.data', ...more] = [...args.all('input'), ...args.words];
  if (more.length > 0) throw new UsageError(`one recording at a time, not ${more.length + 1}`);
  if (input === '-')
    throw new UsageError('a recording that comes through a pipe is read twice', 'Save it to a file first.');
  const output = args.string('output') ?? `${input}.tar.gz`;
  const captured = new CapturedFiles(diskDriver());
  await ask(input, captured, args.boolean('sources'), args.boolean('all'), err);
  const recording = await openFileSource(input).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_NOT_A_FILE') throw error;
    throw new CounterpointError(
      'ERR_NOT_A_FILE',
      `${input} is a directory: archives have recordings of one file`,
      'Record without --threads and --kcore, or pack the directory with tar.',
    );
  });
  try {
    const files = captured.list();
    const seconds = Math.floor(Date.now() / 1000);
    const pieces = writeArchive(recording, files, seconds);
    const isPlain = output === '-' || output.endsWith('.tar');
    const bytes = await writeChunks(isPlain ? pieces : gzipped(pieces), output, out, true);
    const binaries = new Set(files.map(({ request }) => request.buildId).filter((id) => id !== '')).size;
    const others = files.filter(({ request }) => request.buildId === '').length;
    if (output === '-') return EXIT_OK;
    if (args.boolean('json'))
      out.json({ type: 'archive', version: 1, path: output, bytes, binaries, otherFiles: others });
    else {
      const more = others === 0 ? '' : `, ${others} other files`;
      out.line(
        printable(`${output}: the recording, ${binaries} binaries${more}, ${formatBytes(bytes ?? 0)}`),
      );
      out.line(printable(`  here or elsewhere: counterpoint report -i ${output}`));
      out.line(printable(`  with perf: tar xf ${output} -C ~/.debug`));
    }
    return EXIT_OK;
  } finally {
    await recording.close();
  }
}

/**
 * Reads the recording as a report with lines and inlined functions does: what
 * that asks for is what is needed.
 */
async function ask(
  input: string,
  captured: CapturedFiles,
  withSources: boolean,
  withAll: boolean,
  err: Context['err'],
): Promise<void> {
  using progress = new ProgressLine(err);
  const { openRecording } = await import('../../../host/open/index.ts');
  await using recording = await openRecording(input, { symbols: captured });
  const { profile } = await recording.profile({
    aggregate: true,
    debugInfo: 'inlines',
    onProgress: progress.listener(),
  });
  const request = (need: 'binary' | 'script', path: string, buildId: string) =>
    captured
      .open({ need, path, buildId, pid: -1, required: true }, [])
      .then((file) => file?.close?.())
      .catch(() => {});
  // With a debug file nobody asked for the code.
  for (const { path, buildId, kind } of profile.binaries)
    if (kind !== 'jit' && kind !== 'unknown' && path.startsWith('/')) await request('binary', path, buildId);
  if (withSources) {
    const { sources, strings } = profile;
    const names = new Set(Array.from(sources.file.view(), (row) => strings.get(row)));
    for (const name of names) if (name.startsWith('/')) await request('script', name, '');
  }
  const reader = await recording.reader();
  const isTraced = reader.features.auxIndex !== undefined;
  if (!withAll && !isTraced) return;
  const { recordedBuildIds } = await import('../contents/recorded-build-ids.ts');
  for (const [path, buildId] of await recordedBuildIds(reader))
    if (path.startsWith('/')) await request('binary', path, buildId);
}

async function* gzipped(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Readable } = await import('node:stream');
  const gzip = createGzip();
  const source = Readable.from(pieces);
  source.on('error', (error) => gzip.destroy(error));
  for await (const piece of source.pipe(gzip)) yield piece;
}
