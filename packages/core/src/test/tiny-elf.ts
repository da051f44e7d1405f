/**
 * ELF files made by hand: of any class and byte order, with the sections, segments
 * and symbols that a test names.
 */

export interface TinySection {
  name: string;
  type: number;
  bytes?: Uint8Array;
  address?: number;
  flags?: number;
  /** Name of the section that `sh_link` points to. */
  link?: string;
  entrySize?: number;
}

export interface TinySegment {
  type: number;
  offset: number;
  address: number;
  fileSize: number;
  memorySize?: number;
  flags?: number;
}

export interface TinySymbol {
  name: string;
  value: number;
  size?: number;
  /** STT_..., by default FUNC. */
  type?: number;
  /** STB_..., by default GLOBAL. */
  binding?: number;
  visibility?: number;
  /** Index of its section, by default 1. */
  section?: number;
}

export interface TinyElf {
  is64?: boolean;
  littleEndian?: boolean;
  type?: number;
  machine?: number;
  sections?: TinySection[];
  segments?: TinySegment[];
  /** Adds `.symtab` and `.strtab`. */
  symbols?: TinySymbol[];
  dynamicSymbols?: TinySymbol[];
}

class Writer {
  readonly #bytes: number[] = [];
  readonly #little: boolean;
  readonly #wide: boolean;

  constructor(little: boolean, wide: boolean) {
    this.#little = little;
    this.#wide = wide;
  }

  get size(): number {
    return this.#bytes.length;
  }

  number(value: number, size: number): this {
    const big = BigInt.asUintN(size * 8, BigInt(value));
    for (let at = 0; at < size; at++) {
      const shift = BigInt((this.#little ? at : size - 1 - at) * 8);
      this.#bytes.push(Number((big >> shift) & 0xffn));
    }
    return this;
  }

  /** An address or size: 4 or 8 bytes by class. */
  word(value: number): this {
    return this.number(value, this.#wide ? 8 : 4);
  }

  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  padTo(size: number): this {
    while (this.#bytes.length < size) this.#bytes.push(0);
    return this;
  }

  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}

const SHT_STRTAB = 3;

/**
 * The file's bytes. Section contents start at `contentOffset` (0x200, where segments may
 * point to) in the order given.
 */
export function tinyElf(elf: TinyElf): Uint8Array<ArrayBuffer> {
  const wide = elf.is64 ?? true;
  const little = elf.littleEndian ?? true;
  const sections: TinySection[] = [...(elf.sections ?? [])];
  if (sections.length === 0)
    sections.push({ name: '.text', type: 1, bytes: new Uint8Array(64), address: 0x1000 });
  for (const [symbols, name, strings, type] of [
    [elf.symbols, '.symtab', '.strtab', 2],
    [elf.dynamicSymbols, '.dynsym', '.dynstr', 11],
  ] as const) {
    if (symbols === undefined) continue;
    const table = symbolTable(symbols, little, wide);
    sections.push({ name, type, bytes: table.bytes, link: strings, entrySize: wide ? 24 : 16 });
    sections.push({ name: strings, type: SHT_STRTAB, bytes: table.strings });
  }
  const names = new StringPool();
  for (const section of sections) names.add(section.name);
  names.add('.shstrtab');
  sections.push({ name: '.shstrtab', type: SHT_STRTAB, bytes: names.bytes() });

  const out = new Writer(little, wide);
  const segments = elf.segments ?? [];
  const headerSize = wide ? 64 : 52;
  const segmentSize = wide ? 56 : 32;
  const sectionSize = wide ? 64 : 40;
  const offsets: number[] = [];
  let end = CONTENT_OFFSET;
  for (const section of sections) {
    offsets.push(end);
    end += Math.ceil((section.bytes?.length ?? 0) / 16) * 16;
  }
  out.raw([0x7f, 0x45, 0x4c, 0x46, wide ? 2 : 1, little ? 1 : 2, 1]).padTo(16);
  out
    .number(elf.type ?? 3, 2)
    .number(elf.machine ?? 62, 2)
    .number(1, 4);
  out
    .word(0)
    .word(segments.length > 0 ? headerSize : 0)
    .word(end)
    .number(0, 4);
  out.number(headerSize, 2).number(segmentSize, 2).number(segments.length, 2);
  out
    .number(sectionSize, 2)
    .number(sections.length + 1, 2)
    .number(sections.length, 2);
  for (const segment of segments) {
    const flags = segment.flags ?? 5;
    out.number(segment.type, 4);
    if (wide) out.number(flags, 4);
    out.word(segment.offset).word(segment.address).word(segment.address);
    out.word(segment.fileSize).word(segment.memorySize ?? segment.fileSize);
    if (!wide) out.number(flags, 4);
    out.word(4);
  }
  sections.forEach((section, index) => {
    out.padTo(offsets[index]!).raw(section.bytes ?? []);
  });
  out.padTo(end).padTo(end + sectionSize);
  sections.forEach((section, index) => {
    const link = section.link === undefined ? 0 : sections.findIndex((one) => one.name === section.link) + 1;
    out
      .number(names.offset(section.name), 4)
      .number(section.type, 4)
      .word(section.flags ?? 0);
    out
      .word(section.address ?? 0)
      .word(offsets[index]!)
      .word(section.bytes?.length ?? 0);
    out
      .number(link, 4)
      .number(0, 4)
      .word(1)
      .word(section.entrySize ?? 0);
  });
  return out.done();
}

export const CONTENT_OFFSET = 0x200;

/** A note: name `GNU`, type 3. */
export function buildIdNote(hex: string, little = true): Uint8Array<ArrayBuffer> {
  const id = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return new Writer(little, true)
    .number(4, 4)
    .number(id.length, 4)
    .number(3, 4)
    .raw([0x47, 0x4e, 0x55, 0])
    .raw(id)
    .done();
}

class StringPool {
  readonly #offsets = new Map<string, number>([['', 0]]);
  #text = '\0';

  add(name: string): number {
    let offset = this.#offsets.get(name);
    if (offset === undefined) {
      offset = this.#text.length;
      this.#offsets.set(name, offset);
      this.#text += `${name}\0`;
    }
    return offset;
  }

  offset(name: string): number {
    return this.#offsets.get(name)!;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return new TextEncoder().encode(this.#text);
  }
}

function symbolTable(
  symbols: readonly TinySymbol[],
  little: boolean,
  wide: boolean,
): { bytes: Uint8Array<ArrayBuffer>; strings: Uint8Array<ArrayBuffer> } {
  const names = new StringPool();
  const out = new Writer(little, wide).padTo(wide ? 24 : 16);
  for (const symbol of symbols) {
    const info = ((symbol.binding ?? 1) << 4) | (symbol.type ?? 2);
    const other = symbol.visibility ?? 0;
    const section = symbol.section ?? 1;
    out.number(names.add(symbol.name), 4);
    if (wide)
      out
        .number(info, 1)
        .number(other, 1)
        .number(section, 2)
        .word(symbol.value)
        .word(symbol.size ?? 0);
    else
      out
        .word(symbol.value)
        .word(symbol.size ?? 0)
        .number(info, 1)
        .number(other, 1)
        .number(section, 2);
  }
  return { bytes: out.done(), strings: names.bytes() };
}
