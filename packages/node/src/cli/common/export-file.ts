/** Profiles into files of other tools: shared by every verb with `-o`. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { printableText } from '@counterpoint/core/base';
import type { ExportFormat, ExportOptions } from '@counterpoint/core/export';
import type { Profile } from '@counterpoint/core/profile';
import { isOutputFailure, openFailure, openOutputFile, WriteError } from '../../host/files/index.ts';
import type { Output } from './output.ts';
import { UsageError } from './usage-error.ts';

/**
 * The format of that name, or of a file of that name. `more`: what the verb writes besides, for the message.
 * `hasTimes`: what is written knows when it was.
 */
export async function exportFormat(
  name: string,
  more: readonly Pick<ExportFormat, 'name' | 'extension' | 'description'>[] = [],
  hasTimes = true,
): Promise<ExportFormat> {
  const { EXPORTS, findExport } = await import('@counterpoint/core/export');
  const format = findExport(name);
  if (format?.needsTimes === true && !hasTimes)
    throw new UsageError(
      `${format.name} shows what was when, and these are sums of all calls, without times`,
      'Take svg, or record the trace and export it: counterpoint pt record, counterpoint export -o calls.pftrace.',
    );
  if (format !== undefined) return format;
  const known = [...EXPORTS, ...more].map(
    (row) => `  ${row.name.padEnd(12)} .${row.extension.padEnd(16)} ${row.description}`,
  );
  throw new UsageError(
    `no export format fits '${name}'`,
    `Formats, and the endings of names that choose them:\n${known.join('\n')}`,
  );
}

/** Write a profile to a file, or with `-` to the output. Gives the bytes of a file, null for the output. */
export async function writeExport(
  profile: Profile,
  format: ExportFormat,
  path: string,
  options: Omit<ExportOptions, 'compress'>,
  out: Output,
): Promise<number | null> {
  const compress = async (bytes: Uint8Array) => promisify(gzip)(bytes);
  const chunks = format.write(profile, { ...options, compress });
  return await writeChunks(chunks, path, out, format.isBinary);
}

/** Write pieces to a file, or with `-` to the output. Gives the bytes of a file, null for the output. */
export async function writeChunks(
  chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  path: string,
  out: Output,
  isBinary = false,
): Promise<number | null> {
  if (path === '-') {
    for await (const chunk of chunks) {
      if (typeof chunk === 'string') out.write(chunk);
      else if (isBinary) out.binary(chunk);
      else out.utf8(chunk);
    }
    out.flush();
    return null;
  }
  const fd = await openOutputFile(path).catch((error) => {
    throw openFailure(path, error);
  });
  const stream = createWriteStream('', { fd });
  try {
    for await (const chunk of chunks) {
      if (!stream.write(typeof chunk === 'string' ? printableText(chunk) : chunk))
        await once(stream, 'drain');
    }
    stream.end();
    await once(stream, 'close');
  } catch (error) {
    throw isOutputFailure(error) ? new WriteError(path, error) : error;
  }
  return stream.bytesWritten;
}
