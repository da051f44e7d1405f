/** Functions by address, from the symbols of the binaries where they lie in memory. */
import type { ByteSourceInput, Diagnostic } from '@counterpoint/core/base';
import { asByteSource, CounterpointError, toSignedFloat } from '@counterpoint/core/base';
import { openElf, PT_LOAD } from '@counterpoint/core/elf';
import { type CodeSymbols, loadCodeSymbols, type SymbolDriver } from '@counterpoint/core/symbols';

/** Addresses that a message names. */
const MOST_SHOWN = 8;

/** A piece of a file in memory. */
export interface PlacedBinary {
  /** As it was given, or as the recording names it. */
  path: string;
  /** Lower-case hex; empty where it is not known. */
  buildId: string;
  /** Names by file offset; null where it has none. */
  symbols: CodeSymbols | null;
}

interface Placed {
  binary: PlacedBinary;
  /** As float64: code of programs lies below 2^47, the kernel's is signed. */
  from: number;
  to: number;
  /** What to add to an address for its place in the file. */
  toOffset: number;
}

/** Where an address is. */
export interface FunctionPlace {
  /** The file it lies in. */
  binary: PlacedBinary;
  /** Row of the binary's symbols, -1 where the address has none. */
  symbol: number;
  /** Offset in the file, as its symbols count. */
  offset: number;
}

/** Functions by address, from the symbols of files and where they lie in memory. */
export class CodeFunctions {
  /** Every file that was added. */
  readonly binaries: PlacedBinary[] = [];
  /** What was wrong with debug files and symbols. */
  readonly diagnostics: Diagnostic[] = [];
  readonly #placed: Placed[] = [];

  /** Addresses `from` to `to` hold the file from `offset` on. What is added later lies on top. */
  add(binary: PlacedBinary, from: bigint, sizeBytes: number, offset: number): void {
    if (!this.binaries.includes(binary)) this.binaries.push(binary);
    const start = Number(BigInt.asIntN(64, from));
    this.#placed.unshift({ binary, from: start, to: start + sizeBytes, toOffset: offset - start });
  }

  /**
   * The segments of an ELF file, as `addElf` places them. `driver` finds debug files; without one the
   * file's own symbols are used.
   */
  async addElf(
    file: ByteSourceInput,
    placement: { name: string; address?: bigint | null },
    driver?: SymbolDriver,
  ): Promise<void> {
    const source = asByteSource(file, placement.name);
    const elf = await openElf(source);
    const segments = elf.segments.filter((one) => one.type === PT_LOAD && one.fileSize > 0);
    if (segments.length === 0)
      throw new CounterpointError(
        'ERR_NO_SEGMENTS',
        `${placement.name} has no segments with code`,
        'Give the program or library itself: debug files have no code, and are found automatically.',
      );
    const lowest = segments.reduce(
      (least, { address }) => Math.min(least, address),
      Number.POSITIVE_INFINITY,
    );
    const bias = placement.address == null ? 0n : placement.address - BigInt(lowest);
    const symbols = await loadCodeSymbols(
      { path: placement.name, buildId: '', kind: 'user', pid: -1 },
      {
        open: async (request, diagnostics) =>
          request.need === 'binary' ? source : ((await driver?.open(request, diagnostics)) ?? null),
      },
      this.diagnostics,
    );
    const binary: PlacedBinary = { path: placement.name, buildId: '', symbols };
    for (const segment of segments)
      this.add(binary, BigInt(segment.address) + bias, segment.fileSize, segment.offset);
  }

  /** Where an address (int32 halves) is; null where nothing is known. */
  placeOf(lo: number, hi: number): FunctionPlace | null {
    const address = toSignedFloat(lo >>> 0, hi);
    const placed = this.#placed.find(({ from, to }) => address >= from && address < to);
    if (placed === undefined) return null;
    const offset = address + placed.toOffset;
    return { binary: placed.binary, symbol: placed.binary.symbols?.lookup(offset) ?? -1, offset };
  }

  /** Where the function of an address begins, signed; NaN where it has none. */
  startOf(lo: number, hi: number): number {
    const place = this.placeOf(lo, hi);
    if (place === null || place.symbol < 0) return Number.NaN;
    const address = toSignedFloat(lo >>> 0, hi);
    return address - (place.offset - place.binary.symbols!.start(place.symbol));
  }

  /** Its function's name, with `+0x12` inside of it; null where it has none. */
  nameOf(lo: number, hi: number): string | null {
    const place = this.placeOf(lo, hi);
    if (place === null || place.symbol < 0) return null;
    const inside = place.offset - place.binary.symbols!.start(place.symbol);
    const name = place.binary.symbols!.name(place.symbol);
    return inside === 0 ? name : `${name}+0x${inside.toString(16)}`;
  }

  /** Addresses of the functions of a name, as bigint. */
  addressesOf(name: string): bigint[] {
    const found: bigint[] = [];
    for (const { binary, from, to, toOffset } of this.#placed) {
      const { symbols } = binary;
      if (symbols === null) continue;
      for (let symbol = 0; symbol < symbols.length; symbol++) {
        const address = symbols.start(symbol) - toOffset;
        if (address < from || address >= to) continue;
        if (symbols.name(symbol) !== name && symbols.rawName(symbol) !== name) continue;
        found.push(BigInt.asUintN(64, BigInt(address)));
      }
    }
    return found;
  }

  /** The address of one function by name or number (0x…). */
  addressOf(text: string): bigint {
    if (/^(0x[0-9a-fA-F]{1,16}|[0-9]{1,19})$/.test(text)) return BigInt(text);
    const found = [...new Set(this.addressesOf(text))];
    if (found.length === 1) return found[0]!;
    const shown = found.slice(0, MOST_SHOWN).map((one) => `0x${one.toString(16)}`);
    if (found.length > shown.length) shown.push('...');
    throw new CounterpointError(
      'ERR_NO_FUNCTION',
      found.length === 0
        ? `no function is named ${text}`
        : `${found.length} functions are named ${text}: ${shown.join(', ')}`,
      'Give its address (0x…), or name the file that has it.',
    );
  }
}
