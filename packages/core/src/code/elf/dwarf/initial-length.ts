import type { DwarfCursor } from './dwarf-cursor.ts';
import { DWARF_LENGTH_64, DWARF_LENGTH_RESERVED } from './dwarf-facts.ts';

export interface InitialLength {
  /** The 64-bit format. */
  readonly is64: boolean;
  /** Behind the unit's last byte. */
  readonly end: number;
}

/**
 * How each unit begins (DWARF 5, section 7.4). Null where that is not inside of the section: what
 * follows cannot be found then.
 */
export function readInitialLength(cursor: DwarfCursor): InitialLength | null {
  let length = cursor.u32();
  const is64 = length === DWARF_LENGTH_64;
  if (is64) length = cursor.u64();
  else if (length >= DWARF_LENGTH_RESERVED) return null;
  if (cursor.isDamaged || length > cursor.end - cursor.at) return null;
  return { is64, end: cursor.at + length };
}
