import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { buildIdOfNotes } from '@counterpoint/core/elf';

/** Build id of the running kernel in lower-case hex, or empty where it has none. */
export function kernelBuildId(notesPath = '/sys/kernel/notes'): string {
  try {
    return buildIdOfNotes(new Uint8Array(readFileSync(notesPath)), endianness() === 'LE');
  } catch {
    return '';
  }
}
