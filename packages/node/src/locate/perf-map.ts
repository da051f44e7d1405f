import { stat } from 'node:fs/promises';
import { CounterpointError } from '@counterpoint/core/base';
import type { Diagnostic, FileRequest, OpenedFile } from '@counterpoint/core/symbols';
import { openFileSource } from './file-source.ts';
import type { ProcessView } from './process-view.ts';

/**
 * The map that a process wrote of the code it made: `/tmp/perf-PID.map`. A process in a container writes it into its own
 * `/tmp` under its own pid, which we reach through `/proc/PID/root` while it lives.
 *
 * Anyone can write to /tmp, so a file counts only if it belongs to us, to root, or to the process itself.
 */
export async function openPerfMap(
  request: FileRequest,
  view: ProcessView | null,
  options: { tmpDir: string; anyOwner: boolean },
  diagnostics: Diagnostic[],
): Promise<OpenedFile | null> {
  const paths = [`${options.tmpDir}/perf-${request.pid}.map`];
  if (view !== null && view.root !== '') paths.unshift(`${view.root}/tmp/perf-${view.ownPid}.map`);
  else if (view !== null && view.ownPid !== request.pid)
    paths.push(`${options.tmpDir}/perf-${view.ownPid}.map`);
  for (const path of paths) {
    const file = await openOne(path, view, options.anyOwner, diagnostics);
    if (file !== null) return file;
  }
  return null;
}

async function openOne(
  path: string,
  view: ProcessView | null,
  anyOwner: boolean,
  diagnostics: Diagnostic[],
): Promise<OpenedFile | null> {
  try {
    const { uid } = await stat(path);
    const owners = [0, process.geteuid?.() ?? 0, view?.uid ?? 0];
    if (!anyOwner && !owners.includes(uid)) {
      diagnostics.push({
        code: 'perf-map-owner',
        path,
        detail: `it belongs to user ${uid}, not to you, root or the process, so it was not read`,
        remedy: `If you trust it, make it yours: chown ${process.geteuid?.() ?? 0} ${path}`,
      });
      return null;
    }
    return await openFileSource(path);
  } catch (error) {
    const code = error instanceof CounterpointError ? error.code : (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      diagnostics.push({ code: 'perf-map-access', path, ...explain(code ?? String(error)) });
    return null;
  }
}

/** Why a map that is there cannot be read, and what helps. */
function explain(code: string): { detail: string; remedy: string } {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return {
        detail: 'it may not be read (permission denied)',
        remedy: process.geteuid?.() === 0 ? '' : 'Run as the user of the process, or as root.',
      };
    case 'ERR_NOT_A_FILE':
    case 'ELOOP':
      return {
        detail: code === 'ELOOP' ? 'it is a link that leads to itself' : 'it is not a regular file',
        remedy: 'No process names its code in such a thing: remove it.',
      };
    default:
      return { detail: `it cannot be read (${code})`, remedy: '' };
  }
}
