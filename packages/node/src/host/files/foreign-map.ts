import type { Stats } from 'node:fs';
import { isTrusted } from './output-file.ts';

/**
 * Why a map of generated code (`/tmp/perf-PID.map`) is not believed: everybody may make a file of that name,
 * or a link to what others may not read. `facts`: of the file itself, not of what a link leads to. Null: it
 * may be one of a process of this user.
 */
export function whyForeignMap(facts: Stats, uid: number): string | null {
  if (facts.isSymbolicLink()) return 'is a link';
  if (!facts.isFile()) return 'is no plain file';
  if (facts.nlink > 1) return 'has another name, too (a hard link)';
  if (facts.uid === uid || isTrusted(facts.uid)) return null;
  return `belongs to user ${facts.uid}, and neither to that of the process nor to you or root`;
}
