import { NT_GNU_BUILD_ID, PT_NOTE, SHT_NOTE } from './elf-facts.ts';
import { type ElfFile, viewOf } from './elf-file.ts';

/** Notes are some hundred bytes; core dumps carry more, but no build id of their own. */
const MAX_NOTE_BYTES = 1 << 20;
/** The kernel keeps 20 bytes in a record; linkers write 8, 16 or 20. */
const MAX_BUILD_ID_BYTES = 64;
const GNU = 0x474e5500; // 'G' 'N' 'U' NUL, read big endian

/** Lower-case hex of the GNU build id, or empty. */
export async function readBuildId(elf: ElfFile): Promise<string> {
  const places = [
    ...elf.segments
      .filter((segment) => segment.type === PT_NOTE)
      .map((segment) => ({ offset: segment.offset, size: segment.fileSize, align: segment.align })),
    // Relocatable files (kernel modules) have no segments, debug files segments without bytes.
    ...elf.sections
      .filter((section) => section.type === SHT_NOTE)
      .map((section) => ({ offset: section.offset, size: section.size, align: 4 })),
  ];
  for (const { offset, size, align } of places.slice(0, 32)) {
    const bytes = await elf.source.read(offset, Math.min(size, MAX_NOTE_BYTES));
    const buildId = buildIdOfNotes(bytes, elf.littleEndian, align === 8 ? 8 : 4);
    if (buildId !== '') return buildId;
  }
  return '';
}

/**
 * The GNU build id among notes (also the text of `/sys/kernel/notes`), or empty. A note:
 *
 *     namesz | descsz | type | name, padded to `align` | desc, padded to `align`
 */
export function buildIdOfNotes(bytes: Uint8Array<ArrayBuffer>, littleEndian: boolean, align = 4): string {
  const view = viewOf(bytes);
  const pad = (size: number) => Math.ceil(size / align) * align;
  for (let at = 0; at + 12 <= bytes.length; ) {
    const nameSize = view.getUint32(at, littleEndian);
    const size = view.getUint32(at + 4, littleEndian);
    const type = view.getUint32(at + 8, littleEndian);
    // With 8-byte alignment the padding counts from the note's start (header included), which
    // is the same for names of 4.
    const content = at + pad(12 + nameSize);
    if (
      type === NT_GNU_BUILD_ID &&
      nameSize === 4 &&
      at + 16 <= bytes.length &&
      view.getUint32(at + 12, false) === GNU &&
      size > 0 &&
      size <= MAX_BUILD_ID_BYTES &&
      content + size <= bytes.length
    )
      return hexOf(bytes.subarray(content, content + size));
    at = content + pad(size);
  }
  return '';
}

export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}
