import { FormatError, memorySource } from '../../base/index.ts';
import {
  crc32OfSource,
  type DebugLink,
  decompressXz,
  type ElfFile,
  findSection,
  openElf,
  readBuildId,
  readDebugLink,
  readPlt,
  readSectionBytes,
  readSymbols,
  type Section,
} from '../elf/index.ts';
import type { CodeSymbols } from './code-symbols.ts';
import type { FileRequest, OpenedFile } from './driver.ts';
import { type ElfTable, elfCodeSymbols } from './elf-symbols.ts';
import type { LoadContext } from './load-context.ts';

/** `.gnu_debugdata` holds the symbol table of one binary; libxul's is 10 MB. */
const MAX_DEBUGDATA_BYTES = 256 << 20;
/** Symbol tables get three to ten times smaller; what claims more is a trap for memory. */
const MAX_DEBUGDATA_RATIO = 64;
const FREE_DEBUGDATA_BYTES = 1 << 20;
const DEBUG_REMEDY =
  'Install its debug symbols (Debian, Ubuntu: the -dbgsym package; Fedora: `dnf debuginfo-install`), or set DEBUGINFOD_URLS to a server that has them.';

/**
 * Symbols of a binary: its own .symtab; else its debug file's; else .gnu_debugdata with .dynsym (which that
 * leaves out); else .dynsym alone, which names only what other binaries may call.
 */
export async function loadElf(context: LoadContext): Promise<CodeSymbols | null> {
  // The one page of [vsyscall] is no ELF image and has no names.
  if (context.binary.path === '[vsyscall]') return null;
  const opened: OpenedFile[] = [];
  try {
    return await loadOpened(context, opened);
  } finally {
    for (const file of opened) await file.close?.();
  }
}

async function loadOpened(context: LoadContext, opened: OpenedFile[]): Promise<CodeSymbols | null> {
  const { binary, report } = context;
  const mapped = await openBinary(context, opened);
  if (mapped === null && binary.buildId === '') return null;

  const tables: ElfTable[] = [];
  let layout = mapped;
  const own = mapped === null ? null : await readSymbols(mapped, 'symtab');
  if (mapped !== null && own !== null) tables.push({ elf: mapped, symbols: own });
  else {
    const debugData = mapped === null ? null : findSection(mapped, '.gnu_debugdata');
    const debug = await openDebug(context, opened, mapped, debugData === null);
    const full = debug === null ? null : await readSymbols(debug, 'symtab');
    // What was kept of a stripped binary that is gone: its dynamic symbols, without its code.
    const left = mapped ?? debug;
    const packed = debugData ?? (left === null ? null : findSection(left, '.gnu_debugdata'));
    const small =
      left === null || packed === null || full !== null ? null : await readDebugData(context, left, packed);
    const dynamic = left === null || full !== null ? null : await readSymbols(left, 'dynsym');
    layout ??= debug;
    if (debug !== null && full !== null) tables.push({ elf: debug, symbols: full });
    if (small !== null) tables.push(small);
    if (left !== null && dynamic !== null) tables.push({ elf: left, symbols: dynamic });
    if (full === null && small === null && dynamic !== null && binary.kind !== 'vdso')
      report('exported-only', 'the binary is stripped: only exported functions have names', DEBUG_REMEDY);
  }
  if (layout === null || tables.length === 0) {
    if (mapped !== null) report('no-symbols', 'the binary is stripped: it has no symbols', DEBUG_REMEDY);
    return null;
  }
  const plt = mapped === null ? [] : await readPlt(mapped);
  return elfCodeSymbols({ tables, plt, layout }, context.demangle);
}

/** The binary itself, or null (said why) if there is none with the recorded build id. */
export async function openBinary(context: LoadContext, opened: OpenedFile[]): Promise<ElfFile | null> {
  const { path, buildId, pid, kind } = context.binary;
  const reported = context.diagnostics.length;
  const file = await ask(context, opened, {
    need: kind === 'vdso' ? 'vdso' : 'binary',
    path,
    buildId,
    pid,
    required: true,
  });
  if (file === null) {
    // The driver may know that something else is there.
    if (!context.diagnostics.slice(reported).some(({ code }) => code === 'not-a-file'))
      context.report(
        'not-found',
        'the file is not there',
        'Report on the recorded machine while its files are unchanged, or give a copy of them (--symfs DIR).',
      );
    return null;
  }
  let elf: ElfFile;
  try {
    elf = await openElf(file);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    // Mapped data (fonts, archives) is asked for as well, when something jumped into it; it has no names.
    context.report('not-elf', 'the file is not an ELF binary');
    return null;
  }
  const found = await readBuildId(elf);
  if (buildId !== '' && found !== buildId) {
    context.report(
      'build-id-mismatch',
      `the file has build id ${found || '(none)'}, but the recording has ${buildId}`,
      'It was replaced after the recording, by an update or a new build. Record again, or set DEBUGINFOD_URLS to a server that has the old file.',
    );
    return null;
  }
  if (buildId === '' && context.options.acceptUnverified === false) {
    context.report('unverified', 'the recording has no build id for it, so another build cannot be told');
    return null;
  }
  return elf;
}

/** The separate debug file that belongs to the binary, or null. */
export async function openDebug(
  context: LoadContext,
  opened: OpenedFile[],
  mapped: ElfFile | null,
  required: boolean,
): Promise<ElfFile | null> {
  const { path, pid, kind } = context.binary;
  if (kind === 'vdso') return null;
  const buildId = context.binary.buildId || (mapped === null ? '' : await readBuildId(mapped));
  const debugLink = mapped === null ? null : await readDebugLink(mapped);
  if (buildId === '' && debugLink === null) return null;
  const file = await ask(context, opened, { need: 'debug', path, buildId, pid, required, debugLink });
  if (file === null) return null;
  try {
    const debug = await openElf(file);
    if (await belongs(file, debug, buildId, debugLink)) return debug;
    context.report('debug-mismatch', 'its debug file is of another build, and was not used');
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    context.report('debug-damaged', `its debug file cannot be read: ${error.message}`);
  }
  return null;
}

async function belongs(
  file: OpenedFile,
  debug: ElfFile,
  buildId: string,
  debugLink: DebugLink | null,
): Promise<boolean> {
  const found = await readBuildId(debug);
  if (buildId !== '' && found !== '') return found === buildId;
  return debugLink !== null && (await crc32OfSource(file)) === debugLink.crc;
}

/** MiniDebugInfo: a small ELF file, compressed with XZ, with the symbols that are not in .dynsym. */
async function readDebugData(context: LoadContext, elf: ElfFile, section: Section): Promise<ElfTable | null> {
  const packed = await readSectionBytes(elf, section);
  if (packed === null) return null;
  try {
    const most = Math.min(MAX_DEBUGDATA_BYTES, FREE_DEBUGDATA_BYTES + packed.length * MAX_DEBUGDATA_RATIO);
    const inner = await openElf(memorySource(decompressXz(packed, most)));
    const symbols = await readSymbols(inner, 'symtab');
    return symbols === null ? null : { elf: inner, symbols };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    context.report('debugdata-damaged', `its .gnu_debugdata cannot be read: ${error.message}`);
    return null;
  }
}

export async function ask(
  context: LoadContext,
  opened: OpenedFile[],
  request: FileRequest,
): Promise<OpenedFile | null> {
  const file = await context.driver.open(request, context.diagnostics);
  if (file !== null) opened.push(file);
  return file;
}
