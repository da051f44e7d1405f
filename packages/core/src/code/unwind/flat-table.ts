import {
  type ElfFile,
  EM_X86_64,
  findSection,
  PT_LOAD,
  readDebugSection,
  readSectionBytes,
} from '../elf/index.ts';
import { visitRows } from './call-frame-program.ts';
import { type FlatRules, flatRuleOf } from './flat-rules.ts';
import { FrameEntries, type FrameEntry, type FrameSection } from './frame-entries.ts';

/** Compilers align functions to 16 bytes, or 32. */
const MOST_PADDING = 32;
const MOST_OFFSET = 0xffff_ffff;

/**
 * The frame information of a binary as two arrays, by rising place in its file:
 * the rule holds up to the next.
 */
export interface FlatTable {
  /** Places in the file, rising. */
  readonly offsets: Uint32Array;
  /** Numbers in `FlatRules`; 0 where nothing tells how to go on. */
  readonly rules: Uint32Array;
}

/**
 * The rows of `.eh_frame` and `.debug_frame` (which programs in Go have alone) of a binary of x86-64; null
 * where it has none, or is of another architecture. Throws a `FormatError` where the file is damaged.
 */
export async function flattenFrames(elf: ElfFile, rules: FlatRules): Promise<FlatTable | null> {
  const steps = await flattenInSteps(elf, rules);
  if (steps === null) return null;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** As `flattenFrames`, for those who have more to do meanwhile: a step takes far less than a millisecond. */
export async function flattenInSteps(
  elf: ElfFile,
  rules: FlatRules,
): Promise<Generator<undefined, FlatTable> | null> {
  if (elf.machine !== EM_X86_64) return null;
  const frames = findSection(elf, '.eh_frame');
  const sections = [
    frameSection(elf, await readDebugSection(elf, '.debug_frame'), 0, false),
    frameSection(
      elf,
      frames === null ? null : await readSectionBytes(elf, frames),
      frames?.address ?? 0,
      true,
    ),
  ].filter((section) => section !== null);
  return sections.length === 0 ? null : new Flattener(elf, sections, rules).table();
}

function frameSection(
  { littleEndian }: ElfFile,
  bytes: Uint8Array<ArrayBuffer> | null,
  address: number,
  isEhFrame: boolean,
): FrameSection | null {
  return bytes === null ? null : { bytes, address, isEhFrame, pointerBytes: 8, littleEndian };
}

const STEP_ENTRIES = 128;

interface FoundEntry {
  readonly entry: FrameEntry;
  readonly section: FrameSection;
}

class Flattener {
  /** Of two entries for one function, the one of the later section holds. */
  readonly #sections: readonly FrameSection[];
  readonly #rules: FlatRules;
  readonly #segments: ElfFile['segments'];
  #offsets = new Uint32Array(1 << 12);
  #numbers = new Uint32Array(1 << 12);
  #count = 0;

  constructor({ segments }: ElfFile, sections: readonly FrameSection[], rules: FlatRules) {
    this.#sections = sections;
    this.#rules = rules;
    this.#segments = segments.filter(({ type, fileSize }) => type === PT_LOAD && fileSize > 0);
  }

  *table(): Generator<undefined, FlatTable> {
    const found: FoundEntry[] = [];
    for (const section of this.#sections)
      for (const { entry } of new FrameEntries(section).all()) {
        // Start 0: code that the linker dropped.
        if (entry.start !== 0) found.push({ entry, section });
        if (found.length % STEP_ENTRIES === 0) yield;
      }
    found.sort((a, b) => a.entry.start - b.entry.start);
    for (let index = 0; index < found.length; index++) {
      this.#addEntry(found[index]!, found[index + 1]?.entry ?? null);
      if (index % STEP_ENTRIES === 0) yield;
    }
    return { offsets: this.#offsets.slice(0, this.#count), rules: this.#numbers.slice(0, this.#count) };
  }

  #addEntry({ entry, section }: FoundEntry, next: FrameEntry | null): void {
    const segment = this.#segments.find(
      ({ address, fileSize }) => entry.start >= address && entry.start < address + fileSize,
    );
    if (segment === undefined) return;
    const toOffset = segment.offset - segment.address;
    const end = Math.min(entry.end, next?.start ?? entry.end);
    const isWhole = visitRows(section, entry, (from, row, expressions) => {
      if (from < end) this.#add(from + toOffset, flatRuleOf(this.#rules, row, expressions));
    });
    if (!isWhole) this.#add(entry.start + toOffset, 0);
    // Nothing runs between functions that are aligned.
    if (next === null || next.start - end >= MOST_PADDING) this.#add(end + toOffset, 0);
  }

  #add(offset: number, rule: number): void {
    // Damage may lead anywhere; places of files that are larger than that are not in the table.
    if (offset < 0 || offset > MOST_OFFSET) return;
    const last = this.#count - 1;
    // It may lead backwards; then the table stays in order.
    if (last >= 0 && this.#offsets[last]! >= offset) {
      while (this.#count > 0 && this.#offsets[this.#count - 1]! >= offset) this.#count--;
    } else if (last >= 0 && this.#numbers[last] === rule) return;
    if (this.#count === this.#offsets.length) {
      this.#offsets = longer(this.#offsets);
      this.#numbers = longer(this.#numbers);
    }
    this.#offsets[this.#count] = offset;
    this.#numbers[this.#count++] = rule;
  }
}

function longer(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(2 * array.length);
  copy.set(array);
  return copy;
}
