/** Machine code, and the same as text for the GNU assembler: tests compare the two byte for byte. */
export interface MachineCode {
  bytes: Uint8Array;
  listing: string;
}

/** Put the distance from a jump to its label into the bytes of the jump. */
type Patch = (bytes: number[], distanceBytes: number) => void;

/** Bytes and labels, common to both architectures. Jumps are patched at the end, so labels may come later. */
export class CodeBuffer {
  readonly #bytes: number[] = [];
  readonly #lines: string[] = [];
  readonly #labels = new Map<string, number>();
  readonly #jumps: { label: string; at: number; patch: Patch }[] = [];

  emit(text: string, bytes: readonly number[]): void {
    this.#lines.push(`\t${text}`);
    this.#bytes.push(...bytes);
  }

  /**
   * An instruction that names a label. `patch` gets all bytes and the distance from
   * the instruction's first byte.
   */
  emitJump(text: string, bytes: readonly number[], label: string, patch: (at: number) => Patch): void {
    const at = this.#bytes.length;
    this.emit(text, bytes);
    this.#jumps.push({ label, at, patch: patch(at) });
  }

  label(name: string): void {
    if (this.#labels.has(name)) throw new Error(`the label ${name} is there already`);
    this.#lines.push(`${name}:`);
    this.#labels.set(name, this.#bytes.length);
  }

  finish(): MachineCode {
    for (const { label, at, patch } of this.#jumps) {
      const target = this.#labels.get(label);
      if (target === undefined) throw new Error(`no label ${label}`);
      patch(this.#bytes, target - at);
    }
    return { bytes: Uint8Array.from(this.#bytes), listing: `${this.#lines.join('\n')}\n` };
  }
}
