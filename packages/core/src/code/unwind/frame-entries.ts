import { DwarfCursor } from '../elf/index.ts';
import * as cfi from './cfi-facts.ts';

/** A section of frame information, where it is loaded, and what its pointers count from. */
export interface FrameSection {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Virtual address of its first byte. */
  readonly address: number;
  /** `.eh_frame` (pointers are encoded, ids count backwards) or `.debug_frame`. */
  readonly isEhFrame: boolean;
  readonly pointerBytes: 4 | 8;
  readonly littleEndian: boolean;
}

/** What the functions of a compilation unit have in common (a CIE). */
export interface CommonEntry {
  readonly codeAlign: number;
  readonly dataAlign: number;
  readonly returnColumn: number;
  readonly pointerEncoding: number;
  /** The caller was interrupted by a signal: its address is not a return address. */
  readonly isSignalFrame: boolean;
  /** Whether its FDEs begin with a length and data of their own (`z`). */
  readonly hasAugmentation: boolean;
  readonly instructionsAt: number;
  readonly instructionsEnd: number;
}

/** The frame information of one stretch of code (an FDE). */
export interface FrameEntry {
  readonly common: CommonEntry;
  readonly start: number;
  readonly end: number;
  readonly instructionsAt: number;
  readonly instructionsEnd: number;
}

const LENGTH_64 = 0xffff_ffff;
const LEAST_RESERVED_LENGTH = 0xffff_fff0;
const DEBUG_FRAME_CIE_ID = 0xffff_ffff;

interface EntryHeader {
  /** Behind length and id. */
  at: number;
  end: number;
  isCommon: boolean;
  /** Where the CIE of an FDE is. */
  commonAt: number;
  is64: boolean;
}

/** Reads single entries of a section; CIEs are kept. Nothing here throws: what is damaged is null. */
export class FrameEntries {
  readonly section: FrameSection;
  readonly #common = new Map<number, CommonEntry | null>();

  constructor(section: FrameSection) {
    this.section = section;
  }

  /** The FDE at this offset of the section; null if there is none, or a damaged one. */
  at(offset: number): FrameEntry | null {
    const cursor = this.#cursor(offset);
    const header = this.#header(cursor);
    return header === null || header.isCommon ? null : this.#frame(cursor, header);
  }

  /** Every FDE, in the order of the section; stops at damage that leaves no way on. */
  *all(): Generator<{ offset: number; entry: FrameEntry }> {
    const { length } = this.section.bytes;
    for (let offset = 0; offset < length; ) {
      const cursor = this.#cursor(offset);
      const header = this.#header(cursor);
      if (header === null) {
        // A length of 0 ends the part of one object file; more may follow.
        if (cursor.isDamaged || cursor.at !== offset + 4) return;
        offset = cursor.at;
        continue;
      }
      const entry = header.isCommon ? null : this.#frame(cursor, header);
      if (entry !== null) yield { offset, entry };
      offset = header.end;
    }
  }

  #cursor(at: number, end: number = this.section.bytes.length): DwarfCursor {
    const { bytes, littleEndian } = this.section;
    // A damaged index, or the CIE of a damaged entry, may be anywhere.
    return new DwarfCursor(bytes, littleEndian, at >= 0 && at < end ? at : end, end);
  }

  /** Null where there is no entry: a terminator (`cursor` is behind its four bytes) or damage. */
  #header(cursor: DwarfCursor): EntryHeader | null {
    const { bytes, isEhFrame } = this.section;
    let length = cursor.u32();
    if (length === 0 || cursor.isDamaged) return null;
    const is64 = length === LENGTH_64;
    if (is64) length = cursor.u64();
    else if (length >= LEAST_RESERVED_LENGTH) cursor.isDamaged = true;
    const idAt = cursor.at;
    const end = idAt + length;
    if (cursor.isDamaged || !(end <= bytes.length)) {
      cursor.isDamaged = true;
      return null;
    }
    // The id of .eh_frame has four bytes in either format.
    const id = isEhFrame || !is64 ? cursor.u32() : cursor.u64();
    const isCommon = isEhFrame ? id === 0 : is64 ? id > Number.MAX_SAFE_INTEGER : id === DEBUG_FRAME_CIE_ID;
    return { at: cursor.at, end, isCommon, commonAt: isEhFrame ? idAt - id : id, is64 };
  }

  #frame(cursor: DwarfCursor, { end, commonAt }: EntryHeader): FrameEntry | null {
    const common = this.#commonAt(commonAt);
    if (common === null) return null;
    cursor.end = end;
    const start = readPointer(cursor, common.pointerEncoding, this.section, this.section.address);
    // The length has the form of the pointer, and counts from nothing.
    const form = common.pointerEncoding & cfi.DW_EH_PE_FORM_MASK;
    const size = readPointer(cursor, form, this.section, 0);
    if (common.hasAugmentation) cursor.skip(cursor.uleb());
    if (cursor.isDamaged || !(size > 0)) return null;
    return { common, start, end: start + size, instructionsAt: cursor.at, instructionsEnd: end };
  }

  #commonAt(offset: number): CommonEntry | null {
    const known = this.#common.get(offset);
    if (known !== undefined) return known;
    const common = offset >= 0 ? this.#readCommon(offset) : null;
    this.#common.set(offset, common);
    return common;
  }

  #readCommon(offset: number): CommonEntry | null {
    const cursor = this.#cursor(offset);
    const header = this.#header(cursor);
    if (header === null || !header.isCommon) return null;
    cursor.end = header.end;
    const version = cursor.u8();
    const from = cursor.skipString();
    const augmentation = String.fromCharCode(
      ...cursor.bytes.subarray(from, Math.min(cursor.at - 1, from + 8)),
    );
    // "eh" is of gcc before 3.0: a pointer follows. Version 4 tells sizes of addresses.
    if (augmentation.startsWith('eh')) cursor.skip(this.section.pointerBytes);
    if (version >= 4) cursor.skip(2);
    const codeAlign = cursor.uleb();
    const dataAlign = cursor.sleb();
    const returnColumn = version === 1 ? cursor.u8() : cursor.uleb();
    const hasAugmentation = augmentation.startsWith('z');
    let pointerEncoding: number = cfi.DW_EH_PE_ABSPTR;
    let isSignalFrame = false;
    if (hasAugmentation) {
      const dataEnd = cursor.uleb() + cursor.at;
      for (const letter of augmentation.slice(1)) {
        if (letter === 'R') pointerEncoding = cursor.u8();
        else if (letter === 'S') isSignalFrame = true;
        else if (letter === 'L') cursor.u8();
        else if (letter === 'P') readPointer(cursor, cursor.u8(), this.section, 0);
        // B: return addresses are signed with the second key. Others nobody here knows: the length
        // tells where to go on.
        else if (letter !== 'B' && letter !== 'G') break;
      }
      if (dataEnd > header.end) return null;
      cursor.at = dataEnd;
    }
    if (cursor.isDamaged) return null;
    const instructions = { instructionsAt: cursor.at, instructionsEnd: header.end };
    return {
      codeAlign,
      dataAlign,
      returnColumn,
      pointerEncoding,
      isSignalFrame,
      hasAugmentation,
      ...instructions,
    };
  }
}

/**
 * An encoded pointer. `dataBase` is what DATAREL counts from: the beginning of `.eh_frame_hdr`. Pointers
 * through memory (INDIRECT) are not followed: no FDE has one.
 */
export function readPointer(
  cursor: DwarfCursor,
  encoding: number,
  { address, pointerBytes }: Pick<FrameSection, 'address' | 'pointerBytes'>,
  dataBase: number,
): number {
  if (encoding === cfi.DW_EH_PE_OMIT) return 0;
  const from = address + cursor.at;
  const value = readForm(cursor, encoding & cfi.DW_EH_PE_FORM_MASK, pointerBytes);
  switch (encoding & cfi.DW_EH_PE_BASE_MASK) {
    case cfi.DW_EH_PE_PCREL:
      return value + from;
    case cfi.DW_EH_PE_DATAREL:
      return value + dataBase;
    default:
      return value;
  }
}

function readForm(cursor: DwarfCursor, form: number, pointerBytes: number): number {
  switch (form) {
    case cfi.DW_EH_PE_ABSPTR:
      return pointerBytes === 4 ? cursor.u32() : cursor.i64();
    case cfi.DW_EH_PE_ULEB128:
      return cursor.uleb();
    case cfi.DW_EH_PE_UDATA2:
      return cursor.u16();
    case cfi.DW_EH_PE_UDATA4:
      return cursor.u32();
    case cfi.DW_EH_PE_SLEB128:
      return cursor.sleb();
    case cfi.DW_EH_PE_SDATA2:
      return (cursor.u16() << 16) >> 16;
    case cfi.DW_EH_PE_SDATA4:
      return cursor.u32() | 0;
    case cfi.DW_EH_PE_UDATA8:
    case cfi.DW_EH_PE_SDATA8:
      return cursor.i64();
    default:
      cursor.isDamaged = true;
      return 0;
  }
}
