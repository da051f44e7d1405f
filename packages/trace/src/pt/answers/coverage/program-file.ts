import type { ByteSourceInput, Diagnostic } from '@counterpoint/core/base';
import { asByteSource, CounterpointError } from '@counterpoint/core/base';
import {
  crc32OfSource,
  type ElfFile,
  type LineTable,
  openElf,
  PT_LOAD,
  readBuildId,
  readDebugLink,
  readLines,
  readPlt,
  readSymbols,
} from '@counterpoint/core/elf';
import {
  type CodeSymbols,
  type ElfTable,
  elfCodeSymbols,
  type OpenedFile,
  type SymbolDriver,
} from '@counterpoint/core/symbols';

/**
 * A program or library that was traced, with what its debug information says.
 * Addresses are those that the file has.
 */
export interface ProgramFile {
  /** As it was given: for people. */
  readonly name: string;
  /** Its headers. Its source must stay open. */
  readonly elf: ElfFile;
  /** What to add to an address for where it was in memory. */
  readonly bias: bigint;
  /** Null where neither the file nor its debug file has lines. */
  readonly lines: LineTable | null;
  /** Names are raw, as compilers and other tools for coverage know them. */
  readonly symbols: CodeSymbols;
  /** Lower-case hex; empty where it has none. */
  readonly buildId: string;
}

/**
 * Opens a file as `addElf` places it: `address` is where its lowest segment was. `driver` finds debug files.
 */
export async function openProgramFile(
  file: ByteSourceInput,
  placement: { name: string; address?: bigint | null },
  driver?: SymbolDriver,
  diagnostics: Diagnostic[] = [],
): Promise<ProgramFile> {
  const { name } = placement;
  const elf = await openElf(asByteSource(file, name));
  const loaded = elf.segments.filter((one) => one.type === PT_LOAD && one.fileSize > 0);
  if (loaded.length === 0)
    throw new CounterpointError(
      'ERR_NO_SEGMENTS',
      `${name} has no segments with code`,
      'Give the program or library itself.',
    );
  const lowest = loaded.reduce((least, { address }) => Math.min(least, address), Number.POSITIVE_INFINITY);
  const bias = placement.address == null ? 0n : placement.address - BigInt(lowest);
  const buildId = await readBuildId(elf);
  let lines = await readLines(elf);
  const tables: ElfTable[] = [];
  const own = await readSymbols(elf, 'symtab');
  if (own !== null) tables.push({ elf, symbols: own });
  if (lines === null || own === null) {
    const debugFile = driver === undefined ? null : await openDebug(elf, name, buildId, driver, diagnostics);
    if (debugFile !== null) {
      const debug = await openElf(debugFile);
      lines ??= await readLines(debug);
      const symbols = own === null ? await readSymbols(debug, 'symtab') : null;
      if (symbols !== null) tables.push({ elf: debug, symbols });
      await debugFile.close?.();
    }
  }
  const dynamic = await readSymbols(elf, 'dynsym');
  if (dynamic !== null) tables.push({ elf, symbols: dynamic });
  // Layout 0: addresses stay as they are.
  const symbols = elfCodeSymbols({ tables, plt: await readPlt(elf), layout: 0 }, (symbol) => symbol);
  return { name, elf, bias, lines, symbols, buildId };
}

/**
 * The debug file that belongs to a program: of the same build id, or with the
 * checksum that its debug link gives.
 */
async function openDebug(
  elf: ElfFile,
  path: string,
  buildId: string,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
): Promise<OpenedFile | null> {
  const debugLink = await readDebugLink(elf);
  if (buildId === '' && debugLink === null) return null;
  const file = await driver.open(
    { need: 'debug', path, buildId, pid: -1, required: true, debugLink },
    diagnostics,
  );
  if (file === null) return null;
  const found = await readBuildId(await openElf(file));
  const belongs =
    buildId !== '' && found !== ''
      ? found === buildId
      : debugLink !== null && (await crc32OfSource(file)) === debugLink.crc;
  if (belongs) return file;
  diagnostics.push({
    code: 'debug-mismatch',
    path,
    detail: 'its debug file is of another build, and was not used',
    remedy: '',
  });
  await file.close?.();
  return null;
}

/** Where an address of the file is in it; NaN where it is not loaded from there. */
export function fileOffsetOf({ elf }: ProgramFile, address: number): number {
  const segment = elf.segments.find(
    (one) => one.type === PT_LOAD && address >= one.address && address < one.address + one.fileSize,
  );
  return segment === undefined ? Number.NaN : address - segment.address + segment.offset;
}
