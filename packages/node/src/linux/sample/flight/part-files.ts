/**
 * A file that is being written has the name of who writes it, so that the next recorder can tell what
 * a killed one has left:
 *
 *   flight-20261123-180259.417-3.data.counterpoint_4711_88213_4026531836.part
 */
import { join } from 'node:path';
import { groupOf, leftNames, thisOwner } from '../../../host/leftovers/index.ts';
import { addNote, type Note } from '../../kernel/perf-events/index.ts';
import { removeFile } from './dump-files.ts';

const REST = /^-\d{8}-\d{6}\.\d{3}-\d+\.\w+(?:\.data)?\.(counterpoint_[\d_]+)\.part$/;

/** Its name until it is whole. */
export function partOf(path: string): string {
  return `${path}.${groupOf(thisOwner())}.part`;
}

/**
 * Remove what recorders of the same output have left that were killed; never a file of one that runs. Whether
 * one of another container or machine runs cannot always be known: its files stay.
 */
export function removeLeftParts(directory: string, prefix: string, notes: Note[]): void {
  const left = leftParts(directory, prefix);
  for (const name of left) {
    const path = join(directory, name);
    try {
      removeFile(path);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      addNote(notes, { kind: 'left-over', text: `a killed recorder has left a part of a file: ${why}` });
      return;
    }
  }
  if (left.length === 0) return;
  const [what, others] =
    left.length === 1 ? ['an unfinished file', ''] : [`${left.length} unfinished files`, ', …'];
  const text = `removed ${what} of a recorder that was killed: ${join(directory, left[0]!)}${others}`;
  addNote(notes, { kind: 'left-over', text });
}

/** None where it may be written to and not read. */
function leftParts(directory: string, prefix: string): string[] {
  const groupIn = (name: string) =>
    name.startsWith(prefix) ? REST.exec(name.slice(prefix.length))?.[1] : undefined;
  try {
    return leftNames(directory, groupIn, (stat) => stat.isFile());
  } catch {
    return [];
  }
}
