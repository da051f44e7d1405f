import type { ByteSource } from '@counterpoint/core/base';
import { FormatError } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import type { FileRequest, OpenedFile } from '@counterpoint/core/symbols';
import type { Layer, Pending } from './layer.ts';

/** Read at once: most programs whole, of a kernel core what is asked for. */
export const PART_BYTES: number = 4 << 20;

/** The smallest page: a file may end in the middle of one, its mapping does not. */
const PAGE_BYTES = 4096;

/** What `load` could not do. */
export interface LoadReport {
  /** Parts that were read. */
  parts: number;
  /** Files that gave nothing or too little: nobody has one, the one found is another build, or it is cut. */
  missing: { request: FileRequest; code: 'not-found' | 'build-id-mismatch' | 'cut' }[];
}

export async function loadPending(
  layers: readonly Layer[],
  open: (request: FileRequest) => Promise<OpenedFile | null>,
): Promise<LoadReport> {
  const report: LoadReport = { parts: 0, missing: [] };
  const files = new Map<string, OpenedFile | null>();
  try {
    for (const layer of layers) {
      const { pending } = layer;
      if (pending === null) continue;
      const source = pending.source ?? (await openOnce(pending.request, files, open, report));
      if (source === null) {
        pending.isGone = true;
        pending.wanted.clear();
        continue;
      }
      const isShort = await readParts(layer, pending, source);
      report.parts += pending.wanted.size;
      pending.wanted.clear();
      if (isShort && pending.request !== null) report.missing.push({ request: pending.request, code: 'cut' });
    }
  } finally {
    for (const file of files.values()) await file?.close?.();
  }
  return report;
}

/** True where the source ended too early. */
async function readParts(layer: Layer, pending: Pending, source: ByteSource): Promise<boolean> {
  const sizeBytes = Number(layer.last - layer.first + 1n);
  let isShort = false;
  for (const part of pending.wanted) {
    const at = part * PART_BYTES;
    const length = Math.min(PART_BYTES, sizeBytes - at);
    const bytes = await source.read(pending.offset + at, length);
    if (bytes.length <= length - PAGE_BYTES || bytes.length === 0) isShort = true;
    pending.parts.set(part, bytes);
  }
  return isShort;
}

async function openOnce(
  request: FileRequest | null,
  files: Map<string, OpenedFile | null>,
  open: (request: FileRequest) => Promise<OpenedFile | null>,
  report: LoadReport,
): Promise<OpenedFile | null> {
  if (request === null) return null;
  const key = `${request.need} ${request.buildId} ${request.pid} ${request.path}`;
  const known = files.get(key);
  if (known !== undefined) return known;
  const file = await open(request);
  files.set(key, file);
  if (file === null) report.missing.push({ request, code: 'not-found' });
  else if (request.buildId !== '' && (await buildIdOf(file)) !== request.buildId) {
    report.missing.push({ request, code: 'build-id-mismatch' });
    await file.close?.();
    files.set(key, null);
    return null;
  }
  return file;
}

/** Code of another build would be followed without complaint, to wrong places. */
async function buildIdOf(file: OpenedFile): Promise<string> {
  try {
    return await readBuildId(await openElf(file));
  } catch (error) {
    if (error instanceof FormatError) return '';
    throw error;
  }
}
