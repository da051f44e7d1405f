import { type ElfFile, PT_LOAD, SHN_UNDEF } from '../elf/index.ts';

/**
 * Where virtual addresses are in the file. What a mapping makes of an address is its place in the file (ip
 * - start + offset), so symbols are brought there too: by the loaded segment that has them, or
 * (relocatable files, which have no segments) by their section. A number instead of a file keeps addresses
 * and adds that number to them.
 */
export class FileOffsets {
  readonly #elf: ElfFile | null;
  readonly #shift: number;
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  /** Beyond it the segment has no bytes in the file: `.bss`. */
  readonly #fileEnds: Float64Array;
  readonly #deltas: Float64Array;

  constructor(layout: ElfFile | number) {
    const elf = typeof layout === 'number' ? null : layout;
    this.#elf = elf;
    this.#shift = typeof layout === 'number' ? layout : 0;
    const loaded = elf?.segments.filter((one) => one.type === PT_LOAD && one.memorySize > 0) ?? [];
    // A debug file keeps the segments but not their bytes; there an address without bytes is not `.bss`.
    const hasBytes = loaded.some((one) => one.fileSize > 0);
    this.#starts = Float64Array.from(loaded, (one) => one.address);
    this.#ends = Float64Array.from(loaded, (one) => one.address + one.memorySize);
    this.#fileEnds = hasBytes ? Float64Array.from(loaded, (one) => one.address + one.fileSize) : this.#ends;
    this.#deltas = Float64Array.from(loaded, (one) => one.offset - one.address);
  }

  /**
   * `section` is the symbol's, SHN_UNDEF where it is not known. NaN where the file
   * has no bytes for the address.
   */
  of(address: number, section: number): number {
    if (this.#elf === null) return address + this.#shift;
    for (let index = 0; index < this.#starts.length; index++) {
      if (address < this.#starts[index]! || address >= this.#ends[index]!) continue;
      return address < this.#fileEnds[index]! ? address + this.#deltas[index]! : Number.NaN;
    }
    const home = section === SHN_UNDEF ? undefined : this.#elf.sections[section];
    return home === undefined ? Number.NaN : address - home.address + home.offset;
  }

  /** The virtual address of a place in the file; NaN where no segment has it. */
  addressAt(offset: number): number {
    for (let index = 0; index < this.#starts.length; index++) {
      const address = offset - this.#deltas[index]!;
      if (address >= this.#starts[index]! && address < this.#fileEnds[index]!) return address;
    }
    return Number.NaN;
  }
}
