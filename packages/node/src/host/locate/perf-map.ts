import type { Diagnostic } from '@counterpoint/core/base';
import type { FileRequest, OpenedFile } from '@counterpoint/core/symbols';
import { openJitFile } from './jit-file.ts';
import type { ProcessView } from './process-view.ts';

/**
 * The map that a process wrote of the code it made: `/tmp/perf-PID.map`. A process in a container writes it
 * into its own `/tmp` under its own pid, which we reach through `/proc/PID/root` while it lives.
 */
export async function openPerfMap(
  request: FileRequest,
  view: ProcessView | null,
  options: { tmpDir: string; anyOwner: boolean },
  diagnostics: Diagnostic[],
): Promise<OpenedFile | null> {
  if (options.tmpDir === '') return null;
  const { startMs = null } = request;
  const paths = [`${options.tmpDir}/perf-${request.pid}.map`];
  if (view !== null && view.root !== '') paths.unshift(`${view.root}/tmp/perf-${view.ownPid}.map`);
  else if (view !== null && view.ownPid !== request.pid)
    paths.push(`${options.tmpDir}/perf-${view.ownPid}.map`);
  for (const path of paths) {
    const file = await openJitFile(path, 'perf-map', { view, startMs, ...options }, diagnostics);
    if (file !== null) return file;
  }
  return null;
}
