import { CounterpointError, type Diagnostic } from '@counterpoint/core/base';
import type { OpenedFile } from '@counterpoint/core/symbols';
import { isOfEarlierProcess, isTrusted, NamedFile, requireRegular } from '../files/index.ts';
import { fileSource } from './file-source.ts';
import type { ProcessView } from './process-view.ts';

/**
 * What a process wrote of the code it made.
 *
 * Anyone can write to /tmp, and a recording can name any file, so a file counts only if it belongs to us, to
 * root, or to the process itself; a link to it only if it is ours or root's; and neither where somebody could
 * have given another file this name. What was last written before its process began (`startMs`) is of an
 * earlier process with its number, whoever says that it is to be trusted.
 */
export async function openJitFile(
  path: string,
  kind: 'perf-map' | 'jitdump',
  {
    view,
    anyOwner,
    startMs = null,
  }: { view: ProcessView | null; anyOwner: boolean; startMs?: number | null },
  diagnostics: Diagnostic[],
): Promise<OpenedFile | null> {
  try {
    using link = new NamedFile(path, { followLink: false });
    using file = new NamedFile(path);
    const why = anyOwner ? null : whyNotTrusted(link, file, view);
    if (why !== null) {
      diagnostics.push({ code: `${kind}-owner`, path, ...why });
      return null;
    }
    requireRegular(file, { recorded: true });
    if (isOfEarlierProcess(file.facts.mtimeMs, startMs)) {
      diagnostics.push({ code: `${kind}-stale`, path, ...earlier(file.facts.mtimeMs, startMs!) });
      return null;
    }
    return await fileSource(await file.open(), { recorded: true });
  } catch (error) {
    const code = error instanceof CounterpointError ? error.code : (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      diagnostics.push({ code: `${kind}-access`, path, ...explain(code ?? String(error)) });
    return null;
  }
}

/** Both are held by now: what their names lead to later does not matter. */
function whyNotTrusted(
  link: NamedFile,
  file: NamedFile,
  view: ProcessView | null,
): Pick<Diagnostic, 'detail' | 'remedy'> | null {
  const because = (why: string, remedy: string) => ({ detail: `${why}, so it was not read`, remedy });
  const isLink = link.facts.isSymbolicLink();
  if (isLink && !isTrusted(link.facts.uid))
    return because(`it is a link that belongs to user ${link.facts.uid}, not to you or root`, A_COPY);
  const { uid, nlink, dev, ino } = file.facts;
  if (!isTrusted(uid) && uid !== view?.uid) {
    const remedy = `If you trust it, make it yours: chown ${process.geteuid?.() ?? 0} ${file.path}`;
    return because(`it belongs to user ${uid}, not to you, root or the process`, remedy);
  }
  if (file.facts.isFile() && nlink > 1)
    return because('it has another name (a hard link) that anybody may have made', A_COPY);
  const isSame = isLink ? link.isStillThere() : dev === link.facts.dev && ino === link.facts.ino;
  return isSame ? null : because('it was replaced while it was opened', 'Check the file and try again.');
}

function earlier(writtenMs: number, startMs: number): Pick<Diagnostic, 'detail' | 'remedy'> {
  const [written, start] = [writtenMs, startMs].map((ms) => new Date(ms).toISOString());
  const detail = `it was last written at ${written}, and its process began at ${start}: an earlier process with the same number wrote it, so it was not read`;
  return { detail, remedy: '' };
}

const A_COPY = 'If you trust it, replace it by your own copy.';

/** Why a file that is there cannot be read, and what helps. */
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
        detail: code === 'ELOOP' ? 'it is a link to itself' : 'it is not a regular file',
        remedy: 'No process writes names of code to such a file: remove it.',
      };
    default:
      return { detail: `it cannot be read (${code})`, remedy: '' };
  }
}
