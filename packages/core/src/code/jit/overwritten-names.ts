import type { JitLine, JitRecord } from './jitdump-records.ts';
import { parseScriptName } from './script-names.ts';

/**
 * V8 writes the name of a script after it has given its memory back (seen in Node 20, 22 and 24, not in
 * 26). The allocator's pointers are over its first 16 bytes by then, and they have zeros inside:
 *
 *   /app/render/views.js          what the name was
 *   ba e0 02 0 0 0 0 0 e8 85 …s.js   what is in the dump: the length and the tail are right
 *
 * Such a name is found again among those the dump has elsewhere: first of all that of the code
 * itself, whose load says `JS:*render /app/render/views.js:7:3`.
 */
export interface OverwrittenName {
  /** Waits for the name. */
  line: JitLine;
  /** As written, without the zero that ends it; that of a last line may have zeros behind it. */
  raw: Uint8Array;
  /** Nothing says where a last line's name ends: up to 8 zeros follow. */
  isLast: boolean;
}

/** What malloc writes into memory that is given back: two pointers. */
const OVERWRITTEN_BYTES = 16;
/** The zero that ends the name, and up to 7 more to fill the record. */
const MOST_ZEROS_BEHIND = 8;

/** Gives lines their names, as far as another record has them. Returns those that stay without one. */
export function mendNames(
  records: readonly JitRecord[],
  overwritten: ReadonlyMap<JitRecord, readonly OverwrittenName[]>,
): OverwrittenName[] {
  if (overwritten.size === 0) return [];
  const known = new KnownNames(records);
  const left: OverwrittenName[] = [];
  records.forEach((record, index) => {
    const names = overwritten.get(record);
    if (names === undefined) return;
    const own = scriptOfNextLoad(records, index + 1);
    for (const name of names) {
      name.line.file = known.find(name, own);
      if (name.line.file === '') left.push(name);
    }
  });
  return left;
}

/** The script of the code that the lines are of: its load follows, at most unwinding data is between. */
function scriptOfNextLoad(records: readonly JitRecord[], from: number): string {
  const next = records[records[from]?.kind === 'unwinding' ? from + 1 : from];
  return next?.kind === 'load' ? (parseScriptName(next.name)?.file ?? '') : '';
}

class KnownNames {
  /** UTF-8, by length. */
  readonly #byLength = new Map<number, Map<string, Uint8Array>>();
  readonly #encoder = new TextEncoder();

  constructor(records: readonly JitRecord[]) {
    const names = new Set<string>();
    for (const record of records)
      if (record.kind === 'load') names.add(parseScriptName(record.name)?.file ?? '');
      else if (record.kind === 'debug-info') for (const { file } of record.lines) names.add(file);
    for (const name of names) this.#add(name);
  }

  #add(name: string): void {
    const bytes = this.#encoder.encode(name);
    const same = this.#byLength.get(bytes.length);
    if (same === undefined) this.#byLength.set(bytes.length, new Map([[name, bytes]]));
    else same.set(name, bytes);
  }

  /** `own` where it may be that; another name where only that one may be; else the empty text. */
  find({ raw, isLast }: OverwrittenName, own: string): string {
    const fits: string[] = [];
    const shortest = isLast ? Math.max(1, raw.length - MOST_ZEROS_BEHIND) : raw.length;
    const longest = isLast ? raw.length - 1 : raw.length;
    for (let length = longest; length >= shortest; length--)
      for (const [name, bytes] of this.#byLength.get(length) ?? [])
        if (isTail(bytes, raw, length)) {
          if (name === own) return own;
          // Where nothing of the name is left, its length alone does not say which it is.
          if (length > OVERWRITTEN_BYTES) fits.push(name);
        }
    return fits.length === 1 ? fits[0]! : '';
  }
}

function isTail(name: Uint8Array, raw: Uint8Array, length: number): boolean {
  for (let at = OVERWRITTEN_BYTES; at < length; at++) if (name[at] !== raw[at]) return false;
  for (let at = length; at < raw.length; at++) if (raw[at] !== 0) return false;
  return true;
}
