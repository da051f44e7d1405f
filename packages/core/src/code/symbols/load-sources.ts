import { type Diagnostic, FormatError, optional } from '../../base/index.ts';
import {
  type DebugSections,
  type ElfFile,
  ET_REL,
  findSources,
  hasDebugInfo,
  openElf,
  readBuildId,
  readDebugSections,
  readSharedLink,
  type SourceFrame,
  SplitPackage,
  splitUnit,
  type Unit,
  type UnitFile,
  unitFile,
} from '../elf/index.ts';
import { demangle } from './demangle/demangle.ts';
import type { OpenedFile, SymbolDriver } from './driver.ts';
import { FileOffsets } from './file-offsets.ts';
import type { CodeBinary, LoadContext, LoadOptions } from './load-context.ts';
import { ask, openBinary, openDebug } from './load-elf.ts';

/** What debug information says of the source of a binary's code. Addresses are as in `CodeSymbols`. */
export interface CodeSources {
  /**
   * For each address the functions that it is in: that inlined innermost first, the function itself last,
   * each with its line. Names are for people; empty where nothing is known.
   */
  find(addresses: readonly number[]): Promise<(readonly SourceFrame[])[]>;
  /** Lets the files go. */
  close(): Promise<void>;
}

const INSTALL =
  'Install its debug symbols (Debian, Ubuntu: the -dbgsym package; Fedora: `dnf debuginfo-install`), or set DEBUGINFOD_URLS to a server that has them.';

/**
 * Debug information of a binary: its own, or that of its debug file (by build id, debug link, debuginfod).
 * Null if there is none, and for what is no program or library; whoever loads symbols is told why files
 * are not there. Never of another build than the recorded one.
 */
export async function loadCodeSources(
  binary: CodeBinary,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
  options: LoadOptions = {},
): Promise<CodeSources | null> {
  if (binary.kind !== 'user') return null;
  const context: LoadContext = {
    binary,
    driver,
    options,
    // Of the binary and its debug file, the loader of symbols says what is wrong.
    diagnostics: [],
    demangle: options.demangle ?? ((name) => demangle(name)),
    report: () => {},
  };
  const opened: OpenedFile[] = [];
  const close = async () => {
    for (const file of opened.splice(0)) await file.close?.();
  };
  try {
    const sources = await open(context, opened, diagnostics);
    if (sources !== null) return { find: (addresses) => sources.find(addresses), close };
  } catch (error) {
    const isHosts = error instanceof Error && 'code' in error && typeof error.code === 'string';
    if (!(error instanceof FormatError) && !isHosts) throw error;
  }
  await close();
  return null;
}

async function open(
  context: LoadContext,
  opened: OpenedFile[],
  diagnostics: Diagnostic[],
): Promise<ElfSources | null> {
  const mapped = await openBinary(context, opened);
  if (mapped === null && context.binary.buildId === '') return null;
  const hasOwn = mapped !== null && hasDebugInfo(mapped);
  const debug = hasOwn ? mapped : await openDebug(context, opened, mapped, true);
  if (debug === null || debug.type === ET_REL || !hasDebugInfo(debug)) return null;
  const sharer = opened.find((file) => file === debug.source);
  const shared = await openShared(context, opened, diagnostics, debug, sharer?.path);
  const sections = await readDebugSections(debug, '', shared);
  if (sections === null) return null;
  return new ElfSources(context, opened, diagnostics, mapped ?? debug, unitFile(sections));
}

/** The part that dwz has moved to a file of its own. */
async function openShared(
  context: LoadContext,
  opened: OpenedFile[],
  diagnostics: Diagnostic[],
  debug: ElfFile,
  beside: string | undefined,
): Promise<DebugSections | null> {
  const link = await readSharedLink(debug);
  if (link === null) return null;
  const { pid, path } = context.binary;
  const { name, buildId } = link;
  const wanted = { need: 'shared-debug', path: name, buildId, pid, required: true } as const;
  const file = await ask(context, opened, { ...wanted, ...optional({ beside }) });
  const elf = file === null ? null : await openElf(file);
  if (elf !== null && (await readBuildId(elf)) === buildId) return readDebugSections(elf);
  diagnostics.push({
    code: 'shared-debug-missing',
    path,
    detail: `${elf === null ? 'there is no' : 'another build has replaced the'} ${name}, which has part of its debug information: names of inlined functions are missing`,
    remedy: INSTALL,
  });
  return null;
}

class ElfSources {
  readonly #context: LoadContext;
  readonly #opened: OpenedFile[];
  readonly #diagnostics: Diagnostic[];
  readonly #offsets: FileOffsets;
  readonly #file: UnitFile;
  readonly #split = new Map<Unit, UnitFile | null>();
  /** Beside the binary; undefined while nobody has looked. */
  #package: SplitPackage | null | undefined;
  #saidSplit = false;
  #saidDamage = false;

  constructor(
    context: LoadContext,
    opened: OpenedFile[],
    diagnostics: Diagnostic[],
    layout: ElfFile,
    file: UnitFile,
  ) {
    this.#context = context;
    this.#opened = opened;
    this.#diagnostics = diagnostics;
    this.#offsets = new FileOffsets(layout);
    this.#file = file;
  }

  async find(places: readonly number[]): Promise<(readonly SourceFrame[])[]> {
    const addresses = places.map((place) => this.#offsets.addressAt(place));
    const found = await findSources(this.#file, addresses, {
      splitUnit: (unit) => this.#splitUnit(unit),
      nameOf: this.#context.demangle,
    });
    this.#sayDamage();
    return found;
  }

  #sayDamage(): void {
    const { damage } = this.#file.sections.elf;
    if (this.#saidDamage || damage.total === 0) return;
    this.#saidDamage = true;
    this.#diagnostics.push({
      code: 'debug-info-damaged',
      path: this.#context.binary.path,
      detail: `its debug information is damaged (${damage
        .list()
        .map(({ code }) => code)
        .join(', ')}): lines and inlined functions may be missing`,
      remedy: '',
    });
  }

  async #splitUnit(unit: Unit): Promise<UnitFile | null> {
    let split = this.#split.get(unit);
    if (split === undefined) this.#split.set(unit, (split = await this.#openSplit(unit)));
    return split;
  }

  /** Out of the package of split files beside the binary, where there is one. */
  async #packed(unit: Unit): Promise<UnitFile | null> {
    if (this.#package === undefined) {
      const { path, pid } = this.#context.binary;
      const request = { need: 'split-debug', path: `${path}.dwp`, buildId: '', pid, required: true } as const;
      const file = await ask(this.#context, this.#opened, request);
      this.#package = file === null ? null : await readPackage(file);
    }
    const sections = this.#package?.sectionsOf(unit.splitId) ?? null;
    return sections === null ? null : splitUnit(sections, unit);
  }

  async #openSplit(unit: Unit): Promise<UnitFile | null> {
    const { path: binaryPath, pid } = this.#context.binary;
    const { splitName, folder } = unit;
    const path = splitName.startsWith('/') ? splitName : `${folder}/${splitName}`;
    const packed = await this.#packed(unit);
    if (packed !== null) return packed;
    const request = { need: 'split-debug', path, buildId: '', pid, required: true } as const;
    const file = await ask(this.#context, this.#opened, request);
    const split = file === null ? null : await readSplit(file, unit);
    if (split !== null) return split;
    if (!this.#saidSplit) {
      this.#saidSplit = true;
      this.#diagnostics.push({
        code: 'split-debug-missing',
        path: binaryPath,
        detail: `its debug information is split off, and ${path} ${file === null ? 'is not there' : 'is of another build'}: inlined functions are missing there, and where other such files are`,
        remedy:
          'Keep the .dwo files where the compiler wrote them, or put a package of them (dwp) beside the binary.',
      });
    }
    return null;
  }
}

async function readPackage(file: OpenedFile): Promise<SplitPackage | null> {
  try {
    return await SplitPackage.read(await openElf(file));
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

async function readSplit(file: OpenedFile, unit: Unit): Promise<UnitFile | null> {
  try {
    const sections = await readDebugSections(await openElf(file), '.dwo');
    return sections === null ? null : splitUnit(sections, unit);
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}
