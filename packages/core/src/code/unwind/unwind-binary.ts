import { type Diagnostic, FormatError } from '../../base/index.ts';
import {
  type ElfFile,
  findSection,
  openElf,
  PT_LOAD,
  readBuildId,
  readDebugLink,
  readDebugSection,
  readSectionBytes,
  type Segment,
} from '../elf/index.ts';
import type { OpenedFile, SymbolDriver } from '../symbols/index.ts';
import type { UnwindRule } from './call-frame-program.ts';
import type { FrameSection } from './frame-entries.ts';
import { type FrameTable, indexedFrameTable, scannedFrameTable } from './frame-table.ts';

/** A binary whose frame information is wanted. */
export interface WantedBinary {
  /** As the recording names it. */
  path: string;
  /** Lower-case hex, or empty. */
  buildId: string;
  /** Of the process that had it mapped: containers have files of their own. */
  pid: number;
  /** The kernel's own, which is in no file. */
  isVdso: boolean;
  /** Whether a file that no build id proves to be the recorded one may be used. */
  acceptUnverified: boolean;
}

/** The frame information of a binary, by places in its file. */
export class UnwindBinary {
  readonly machine: number;
  readonly #loaded: readonly Segment[];
  readonly #tables: readonly FrameTable[];

  constructor({ machine, segments }: Pick<ElfFile, 'machine' | 'segments'>, tables: readonly FrameTable[]) {
    this.machine = machine;
    this.#loaded = segments.filter(({ type, fileSize }) => type === PT_LOAD && fileSize > 0);
    this.#tables = tables;
  }

  /** The rule of the instruction at this offset of the file; null where the binary says nothing of it. */
  ruleAt(fileOffset: number): UnwindRule | null {
    for (const { offset, address, fileSize } of this.#loaded) {
      if (fileOffset < offset || fileOffset >= offset + fileSize) continue;
      for (const table of this.#tables) {
        const rule = table.ruleAt(fileOffset - offset + address);
        if (rule !== null) return rule;
      }
    }
    return null;
  }
}

/**
 * Null where the file is not there, is another build, or has no frame information: `diagnostics` says which.
 */
export async function loadUnwindBinary(
  wanted: WantedBinary,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
): Promise<UnwindBinary | null> {
  const opened: OpenedFile[] = [];
  try {
    return await loadOpened(wanted, driver, diagnostics, opened);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return null;
  } finally {
    for (const file of opened) await file.close?.();
  }
}

async function loadOpened(
  wanted: WantedBinary,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
  opened: OpenedFile[],
): Promise<UnwindBinary | null> {
  const { path, buildId, pid, isVdso, acceptUnverified } = wanted;
  const request = { path, buildId, pid, required: true };
  // The names of the binary's functions are asked for as well: what the driver has to say
  // of the file, it says there.
  const file = await driver.open({ need: isVdso ? 'vdso' : 'binary', ...request }, []);
  if (file === null) {
    diagnostics.push(missing(path, 'the file is not there'));
    return null;
  }
  opened.push(file);
  const elf = await openElf(file);
  const found = await readBuildId(elf);
  const isOther = buildId === '' ? !acceptUnverified : found !== buildId;
  if (isOther) {
    diagnostics.push(missing(path, 'the file is not the one that was recorded'));
    return null;
  }
  const tables = await ownTables(elf);
  if (tables.length === 0 && !isVdso) {
    const debugLink = await readDebugLink(elf);
    const debugFile = await driver.open({ need: 'debug', ...request, required: false, debugLink }, []);
    if (debugFile !== null) {
      opened.push(debugFile);
      const debug = await openElf(debugFile);
      if ((await readBuildId(debug)) === found) tables.push(...(await debugTables(debug)));
    }
  }
  return new UnwindBinary(elf, tables);
}

function missing(path: string, why: string): Diagnostic {
  return {
    code: 'no-unwind-information',
    path,
    detail: `stacks are followed by frame pointers in it: ${why}`,
    remedy:
      'Report on the recorded machine while its files are unchanged, or give a copy of them (--symfs DIR).',
  };
}

async function ownTables(elf: ElfFile): Promise<FrameTable[]> {
  const table = await ehFrameTable(elf);
  return [...(table === null ? [] : [table]), ...(await debugTables(elf))];
}

async function ehFrameTable(elf: ElfFile): Promise<FrameTable | null> {
  const frames = findSection(elf, '.eh_frame');
  const bytes = frames === null ? null : await readSectionBytes(elf, frames);
  if (frames === null || bytes === null) return null;
  const section = frameSection(elf, bytes, frames.address, true);
  const header = findSection(elf, '.eh_frame_hdr');
  const headerBytes = header === null ? null : await readSectionBytes(elf, header);
  const indexed =
    header === null || headerBytes === null
      ? null
      : indexedFrameTable(section, { bytes: headerBytes, address: header.address });
  return indexed ?? scannedFrameTable(section);
}

async function debugTables(elf: ElfFile): Promise<FrameTable[]> {
  const bytes = await readDebugSection(elf, '.debug_frame');
  const table = bytes === null ? null : scannedFrameTable(frameSection(elf, bytes, 0, false));
  return table === null ? [] : [table];
}

function frameSection(
  elf: ElfFile,
  bytes: Uint8Array<ArrayBuffer>,
  address: number,
  isEhFrame: boolean,
): FrameSection {
  return { bytes, address, isEhFrame, pointerBytes: elf.is64 ? 8 : 4, littleEndian: elf.littleEndian };
}
