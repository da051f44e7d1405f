import { EventSyntaxError } from './errors.ts';
import { type ConfigField, type FormatBits, placeBits } from './format-bits.ts';

/** Bits of an attr word that somebody has set. */
interface Claim {
  readonly field: ConfigField;
  readonly mask: bigint;
  readonly word: bigint;
  /** `umask=3`, or `mem-loads (umask=3)`. */
  readonly by: string;
  /** The same for terms of one event in the kernel's table, which knows what it does. */
  readonly owner: string | null;
  /** Only the bits that are 1 were meant. */
  readonly onlyOnes: boolean;
}

/**
 * Which term has set which bits:
 *
 *   event=0x3c   config  . . . . 0 0 1 1 1 1 0 0
 *   event=0x42   config  . . . . 0 1 0 0 0 0 1 0     differs in bits that are set already
 *
 * The kernel gets one word, in which both together would be a third event.
 */
export class Claims {
  readonly #claims: Claim[] = [];

  /** A whole word, of which only the bits that are set were meant: `config=0x3c`, `r3c`. */
  addWord(field: ConfigField, word: bigint, by: string): void {
    if (word !== 0n) this.#claims.push({ field, mask: word, word, by, owner: null, onlyOnes: true });
  }

  /**
   * Bits of a term, to be added to the word. Throws where they contradict what is there, at `at` of `source`.
   */
  place(
    format: FormatBits,
    value: bigint,
    owner: string | null,
    by: string,
    source: string,
    at: number,
  ): { word: bigint; mask: bigint } {
    const { word, mask } = placeBits(format, value);
    for (const claim of this.#claims) {
      if (claim.field !== format.field || (owner !== null && claim.owner === owner)) continue;
      const shared = claim.onlyOnes ? mask : claim.mask & mask;
      if ((claim.word & mask) === 0n && claim.onlyOnes) continue;
      if (((claim.word ^ word) & shared) === 0n) continue;
      throw new EventSyntaxError(
        source,
        at,
        `${by} contradicts ${claim.by}: both set ${rangeText(format.field, claim.mask & mask)}`,
        'Together they would be a third event. Leave out one of them.',
      );
    }
    this.#claims.push({ field: format.field, mask, word, by, owner, onlyOnes: false });
    return { word, mask };
  }
}

/** `config bits 0-7,32`: as the formats of sysfs write them. */
function rangeText(field: ConfigField, mask: bigint): string {
  const ranges: string[] = [];
  for (let bit = 0; bit < 64; bit++) {
    if (((mask >> BigInt(bit)) & 1n) === 0n) continue;
    const first = bit;
    while (bit < 63 && (mask >> BigInt(bit + 1)) & 1n) bit++;
    ranges.push(first === bit ? String(bit) : `${first}-${bit}`);
  }
  return `${field}:${ranges.join(',')}`;
}
