const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/**
 * FNV-1a over the 32-bit words of addresses in their order, the low half first: two
 * decoders agree or they do not.
 */
export class AddressHash {
  #hash: number = FNV_OFFSET | 0;
  /** Addresses so far. */
  count = 0;

  /** An `AddressListener`: hand it to `streamInstructions`. */
  add = (lo: Int32Array, hi: Int32Array, count: number): void => {
    let hash = this.#hash;
    for (let at = 0; at < count; at++) {
      hash = Math.imul(hash ^ lo[at]!, FNV_PRIME);
      hash = Math.imul(hash ^ hi[at]!, FNV_PRIME);
    }
    this.#hash = hash;
    this.count += count;
  };

  /** `0x` and eight digits. */
  toString(): string {
    return `0x${(this.#hash >>> 0).toString(16).padStart(8, '0')}`;
  }
}
