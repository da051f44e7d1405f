/** The code of one binary of a recording: bytes, names and lines of its functions. */
import type { Diagnostic } from '@counterpoint/core/base';
import { FormatError } from '@counterpoint/core/base';
import {
  type ElfFile,
  EM_386,
  EM_AARCH64,
  EM_X86_64,
  openElf,
  PT_LOAD,
  readBuildId,
} from '@counterpoint/core/elf';
import type { Binary } from '@counterpoint/core/profile';
import {
  type CodeSources,
  type CodeSymbols,
  loadCodeSources,
  loadCodeSymbols,
  type OpenedFile,
  type SourceFrame,
  type SymbolDriver,
} from '@counterpoint/core/symbols';
import type { FunctionSamples } from './function-samples.ts';

/** More is no function that a person reads: a damaged symbol table. */
const MOST_CODE_BYTES = 1 << 22;

/** The code of a function as it ran. */
export interface FunctionCode {
  readonly bytes: Uint8Array;
  /** `e_machine` of the code. */
  readonly machine: number;
  /** What disassemblers call the place of its first byte: the virtual address that the file asks for. */
  readonly address: bigint;
  /** The function at such an address, `work+0x12`; null where none is known. */
  nameAt(address: bigint): string | null;
  /** By instruction: the functions and lines that it is of, that inlined innermost first. */
  sourcesAt(offsets: readonly number[]): Promise<(readonly SourceFrame[])[]>;
  /** The binary's file, for how old it is. */
  readonly path: string | null;
}

/** Why there is no code. */
export class NoCode {
  readonly detail: string;
  readonly remedy: string;

  constructor(detail: string, remedy = '') {
    this.detail = detail;
    this.remedy = remedy;
  }
}

/** Where code comes from: a file, the kernel's memory, a dump of generated code. */
export interface CodeOfBinary {
  codeOf(one: FunctionSamples): Promise<FunctionCode | NoCode>;
  close(): Promise<void>;
}

export interface CodeRequest {
  readonly binary: Binary;
  readonly pid: number;
  readonly driver: SymbolDriver;
  readonly acceptUnverified: boolean;
  /** Of the recorded machine, as `uname -m` gives it. */
  readonly arch: string | null;
  /** What symbols of the binary already complained of. */
  readonly known: readonly Diagnostic[];
  /** Takes what is wrong with debug information. */
  readonly diagnostics: Diagnostic[];
}

export async function codeOfFile(request: CodeRequest): Promise<CodeOfBinary | NoCode> {
  const { binary, driver, pid } = request;
  const isVdso = binary.kind === 'vdso';
  const need = isVdso ? 'vdso' : 'binary';
  const { path, buildId } = binary;
  const file = await driver.open({ need, path, buildId, pid, required: true }, []);
  if (file === null) return whyNot(request, 'the file is not there');
  try {
    const elf = await openElf(file);
    const found = await readBuildId(elf);
    if (buildId !== '' && found !== buildId) {
      await file.close?.();
      return whyNot(request, `the file has build id ${found || '(none)'}, but the recording has ${buildId}`);
    }
    if (buildId === '' && !request.acceptUnverified) {
      await file.close?.();
      return whyNot(request, 'the recording has no build id for it, so another build cannot be told');
    }
    return await FileCode.open(request, file, elf);
  } catch (error) {
    await file.close?.();
    if (!(error instanceof FormatError)) throw error;
    return new NoCode(`the file cannot be read: ${error.message}`);
  }
}

/** What the loader of symbols said of the file is better than what is known here: it has the remedy. */
function whyNot({ binary, known }: CodeRequest, detail: string): NoCode {
  const said = known.find(({ path, code }) => path === binary.path && code !== 'exported-only');
  return said === undefined ? new NoCode(detail) : new NoCode(said.detail, said.remedy);
}

class FileCode implements CodeOfBinary {
  readonly #request: CodeRequest;
  readonly #file: OpenedFile;
  readonly #elf: ElfFile;
  readonly #symbols: CodeSymbols;
  #sources: Promise<CodeSources | null> | null = null;

  private constructor(request: CodeRequest, file: OpenedFile, elf: ElfFile, symbols: CodeSymbols) {
    this.#request = request;
    this.#file = file;
    this.#elf = elf;
    this.#symbols = symbols;
  }

  static async open(request: CodeRequest, file: OpenedFile, elf: ElfFile): Promise<FileCode | NoCode> {
    const { binary, pid, driver, acceptUnverified } = request;
    const { path, buildId, kind } = binary;
    const symbols = await loadCodeSymbols({ path, buildId, kind, pid }, driver, [], { acceptUnverified });
    if (symbols !== null) return new FileCode(request, file, elf, symbols);
    await file.close?.();
    return whyNot(request, 'its symbols cannot be read');
  }

  async codeOf({ start }: FunctionSamples): Promise<FunctionCode | NoCode> {
    const symbols = this.#symbols;
    const row = symbols.lookup(start);
    if (row < 0) return new NoCode('its symbol table has changed');
    const size = symbols.end(row) - start;
    const address = this.#addressAt(start);
    if (Number.isNaN(address)) return new NoCode('the file has no bytes for it');
    const bytes = await this.#file.read(start, Math.min(size, MOST_CODE_BYTES));
    return {
      bytes,
      machine: this.#elf.machine,
      address: BigInt.asUintN(64, BigInt(address)),
      path: this.#file.path ?? null,
      nameAt: (target) => this.#nameAt(target),
      sourcesAt: async (offsets) => {
        const sources = await this.#openSources();
        return sources === null ? [] : await sources.find(offsets.map((offset) => start + offset));
      },
    };
  }

  #openSources(): Promise<CodeSources | null> {
    if (this.#sources === null) {
      const { binary, pid, driver, acceptUnverified, diagnostics } = this.#request;
      const { path, buildId, kind } = binary;
      this.#sources = loadCodeSources({ path, buildId, kind, pid }, driver, diagnostics, {
        acceptUnverified,
      });
    }
    return this.#sources;
  }

  #addressAt(offset: number): number {
    for (const segment of this.#elf.segments) {
      if (segment.type !== PT_LOAD || offset < segment.offset) continue;
      if (offset < segment.offset + segment.fileSize) return offset - segment.offset + segment.address;
    }
    return Number.NaN;
  }

  #nameAt(target: bigint): string | null {
    const address = Number(BigInt.asIntN(64, target));
    for (const segment of this.#elf.segments) {
      if (segment.type !== PT_LOAD || address < segment.address) continue;
      if (address < segment.address + segment.fileSize)
        return symbolText(this.#symbols, address - segment.address + segment.offset);
    }
    return null;
  }

  async close(): Promise<void> {
    await (await this.#sources)?.close();
    await this.#file.close?.();
  }
}

/** The kernel's code as it ran: patched, so that no file of it has it. */
export async function codeOfKernel(request: CodeRequest): Promise<CodeOfBinary | NoCode> {
  const { binary, driver, acceptUnverified, arch } = request;
  const { path, buildId, kind } = binary;
  const symbols = await loadCodeSymbols({ path, buildId, kind, pid: -1 }, driver, [], { acceptUnverified });
  if (symbols === null) return whyNot(request, 'its symbols cannot be read');
  const file = await driver.open(
    { need: 'kcore', path: '/proc/kcore', buildId, pid: -1, required: true },
    [],
  );
  if (file === null)
    return new NoCode(
      "there is no copy of the kernel's code",
      'As root, on the recorded machine: perf record --kcore keeps a copy in the recording, and --kcore FILE names another. A kernel may have no /proc/kcore.',
    );
  let elf: ElfFile;
  try {
    elf = await openElf(file);
  } catch (error) {
    await file.close?.();
    if (!(error instanceof FormatError)) throw error;
    return new NoCode(`the copy of the kernel's code cannot be read: ${error.message}`);
  }
  const machine = elf.machine || machineOf(arch);
  return {
    async codeOf({ start, symbol }) {
      const row = symbols.lookup(start);
      if (row < 0 || symbols.name(row) !== symbol)
        return new NoCode('the kernel has other addresses now than when it was recorded');
      const size = Math.min(symbols.end(row) - start, MOST_CODE_BYTES);
      const segment = elf.segments.find(
        (one) => one.type === PT_LOAD && start >= one.address && start + size <= one.address + one.fileSize,
      );
      if (segment === undefined) return new NoCode("the copy of the kernel's code does not have it");
      return {
        bytes: await file.read(start - segment.address + segment.offset, size),
        machine,
        address: BigInt.asUintN(64, BigInt(start)),
        path: null,
        nameAt: (target) => symbolText(symbols, Number(BigInt.asIntN(64, target))),
        sourcesAt: async () => [],
      };
    },
    async close() {
      await file.close?.();
    },
  };
}

function symbolText(symbols: CodeSymbols, place: number): string | null {
  const row = symbols.lookup(place);
  if (row < 0) return null;
  const offset = place - symbols.start(row);
  return offset === 0 ? symbols.name(row) : `${symbols.name(row)}+0x${offset.toString(16)}`;
}

/** `e_machine` of what `uname -m` calls a machine; 0 for others. */
export function machineOf(arch: string | null): number {
  if (arch === 'x86_64') return EM_X86_64;
  if (arch === 'aarch64') return EM_AARCH64;
  return arch !== null && /^i[3-6]86$/.test(arch) ? EM_386 : 0;
}
