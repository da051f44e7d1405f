import {
  EM_AARCH64,
  EM_X86_64,
  R_AARCH64_GLOB_DAT,
  R_AARCH64_IRELATIVE,
  R_AARCH64_JUMP_SLOT,
  R_X86_64_GLOB_DAT,
  R_X86_64_IRELATIVE,
  R_X86_64_JUMP_SLOT,
  RELA_SIZE_64,
  SHT_RELA,
} from './elf-facts.ts';
import { type ElfFile, findSection, readSectionBytes, type Section, unsigned64, viewOf } from './elf-file.ts';
import { type ElfSymbols, readSymbols } from './symbol-table.ts';

/**
 * A stub of the procedure linkage table: it jumps to a function of another binary through a slot of the GOT.
 */
export interface PltEntry {
  /** Virtual address of the stub. */
  address: number;
  /** Bytes of the stub. */
  size: number;
  /** Name of the function it leads to, or empty for an indirect function of this binary. */
  name: string;
  /** For an indirect function (IRELATIVE): the virtual address of its resolver; else 0. */
  resolver: number;
}

interface Slot {
  name: string;
  resolver: number;
}

/** Far more than any binary has; a bound on what hostile tables can make us build. */
const MAX_ENTRIES = 1 << 17;
const X86_ENTRY_BYTES = 16;

/**
 * The stubs of `.plt`, `.plt.sec` and `.plt.got` on x86-64 and arm64, by the instructions in them: each
 * names the GOT slot it jumps through, and a relocation of that slot names the function. The order of
 * relocations says nothing reliable: ld sorts IRELATIVE ones last (as in glibc), which is why older readers
 * that count entries name stubs wrongly.
 */
export async function readPlt(elf: ElfFile): Promise<PltEntry[]> {
  if (!elf.is64 || (elf.machine !== EM_X86_64 && elf.machine !== EM_AARCH64)) return [];
  const sections = ['.plt', '.plt.sec', '.plt.got', '.iplt']
    .map((name) => findSection(elf, name))
    .filter((section) => section !== null);
  if (sections.length === 0) return [];

  const symbols = await readSymbols(elf, 'dynsym');
  const slots = new Map<number, Slot>();
  const byIndex = await readSlots(elf, '.rela.plt', symbols, slots);
  if (sections.some((section) => section.name === '.plt.got'))
    await readSlots(elf, '.rela.dyn', symbols, slots);

  const entries: PltEntry[] = [];
  for (const section of sections) {
    const bytes = await readSectionBytes(elf, section);
    if (bytes === null) continue;
    if (elf.machine === EM_X86_64) scanX86(bytes, section, slots, byIndex, entries);
    else scanArm64(viewOf(bytes), section.address, slots, entries);
  }
  return entries;
}

/** Adds what the relocations of a section say about GOT slots; returns them in the section's order. */
async function readSlots(
  elf: ElfFile,
  name: string,
  symbols: ElfSymbols | null,
  slots: Map<number, Slot>,
): Promise<Slot[]> {
  const section = findSection(elf, name);
  const bytes = section?.type === SHT_RELA ? await readSectionBytes(elf, section) : null;
  if (bytes === null) return [];
  const view = viewOf(bytes);
  const little = elf.littleEndian;
  const ordered: Slot[] = [];
  // Elf64_Rela: offset u64, info u64 (symbol << 32 | type), addend i64.
  for (let at = 0; at + RELA_SIZE_64 <= bytes.length && slots.size < MAX_ENTRIES; at += RELA_SIZE_64) {
    const type = view.getUint32(at + (little ? 8 : 12), little);
    const symbol = view.getUint32(at + (little ? 12 : 8), little);
    let slot: Slot;
    if (type === R_X86_64_IRELATIVE || type === R_AARCH64_IRELATIVE)
      slot = { name: '', resolver: unsigned64(view, at + 16, little) };
    else if (
      (type === R_X86_64_JUMP_SLOT ||
        type === R_X86_64_GLOB_DAT ||
        type === R_AARCH64_JUMP_SLOT ||
        type === R_AARCH64_GLOB_DAT) &&
      symbols !== null &&
      symbol > 0 &&
      symbol < symbols.count
    )
      slot = { name: symbols.name(symbol), resolver: 0 };
    else continue;
    slots.set(unsigned64(view, at, little), slot);
    ordered.push(slot);
  }
  return ordered;
}

/**
 * The forms of an x86-64 stub (psABI; ld, gold, lld, mold):
 *
 *     ff 25 disp32   push n; jmp plt0          .plt         jmp *slot(%rip)
 *     ff 25 disp32   66 90                     .plt.got
 *     f3 0f 1e fa    [f2] ff 25 disp32         .plt.sec     with endbr64, and bnd before the jump
 *     f3 0f 1e fa    41 bb n32  ff 25 disp32   .plt of mold
 *     f3 0f 1e fa    68 n32  [f2] e9 plt0      .plt beside a .plt.sec: only the relocation's number
 */
function scanX86(
  bytes: Uint8Array<ArrayBuffer>,
  section: Section,
  slots: Map<number, Slot>,
  byIndex: Slot[],
  entries: PltEntry[],
): void {
  const view = viewOf(bytes);
  const size = section.entrySize === 8 ? 8 : X86_ENTRY_BYTES;
  for (let at = 0; at + size <= bytes.length && entries.length < MAX_ENTRIES; at += size) {
    const hasEndbr = view.getUint32(at, false) === 0xf30f1efa;
    let jump = at;
    if (hasEndbr) {
      jump += 4;
      if (bytes[jump] === 0x41 && bytes[jump + 1] === 0xbb) jump += 6;
    }
    if (bytes[jump] === 0xf2) jump++;
    let slot: Slot | undefined;
    if (bytes[jump] === 0xff && bytes[jump + 1] === 0x25 && jump + 6 <= bytes.length)
      slot = slots.get(section.address + jump + 6 + view.getInt32(jump + 2, true));
    else if (hasEndbr && bytes[jump] === 0x68) slot = byIndex[view.getUint32(jump + 1, true)];
    if (slot !== undefined) entries.push({ address: section.address + at, size, ...slot });
  }
}

const BTI_C = 0xd503245f;

/**
 * An arm64 stub is 16 bytes, or 24 with BTI or PAC:
 *
 *     [bti c]  adrp x16, page;  ldr x17, [x16, #low];  add x16, x16, #low;  [autia1716]  br x17
 */
function scanArm64(view: DataView, address: number, slots: Map<number, Slot>, entries: PltEntry[]): void {
  const first = entries.length;
  for (let at = 0; at + 16 <= view.byteLength && entries.length < MAX_ENTRIES; at += 4) {
    const adrp = view.getUint32(at, true);
    const load = view.getUint32(at + 4, true);
    if ((adrp & 0x9f00_001f) >>> 0 !== 0x9000_0010 || (load & 0xffc0_03ff) >>> 0 !== 0xf940_0211) continue;
    // 21 signed bits of pages: immhi in bits 5 to 23, immlo in bits 29 and 30.
    const pages = (((adrp << 8) >> 13) << 2) | ((adrp >>> 29) & 3);
    const page = Math.floor((address + at) / 4096) * 4096 + pages * 4096;
    const slot = slots.get(page + ((load >>> 10) & 0xfff) * 8);
    if (slot === undefined) continue;
    const hasBti = at >= 4 && view.getUint32(at - 4, true) === BTI_C;
    entries.push({ address: address + at - (hasBti ? 4 : 0), size: hasBti ? 24 : 16, ...slot });
  }
  // Stubs stand back to back: where one is longer than assumed (PAC without BTI), it ends at the next.
  for (let index = first; index + 1 < entries.length; index++) {
    const gap = entries[index + 1]!.address - entries[index]!.address;
    if (gap > 0 && gap <= 24) entries[index]!.size = gap;
  }
}
