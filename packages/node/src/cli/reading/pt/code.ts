/** Options that say which code a raw trace ran: shared by the verbs `pt …`. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CounterpointError, FormatError, memorySource } from '@counterpoint/core/base';
import { addElf, CodeImage, parseRawCode, X86_MACHINES } from '@counterpoint/trace/image';
import { AddressFilter, type AddressRange, FILTER_OFF } from '@counterpoint/trace/intel-pt';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import { readFilePart } from './file.ts';
import { parseUnsigned, unsigned } from './settings.ts';

const RANGES = [0, 1, 2, 3] as const;
type RangeName = `filter:addr${(typeof RANGES)[number]}_${'cfg' | 'a' | 'b'}`;
export type PtCodeName = 'raw' | 'elf' | RangeName;

const CODE = 'Code';
/** Twelve options, of which help shows one line. */
const FILTER_FORM = '    --filter:addrN_cfg=USE, --filter:addrN_a=FIRST, --filter:addrN_b=LAST';
const U64 = 0xffff_ffff_ffff_ffffn;

export const PT_CODE_OPTIONS: readonly OptionRow<PtCodeName>[] = [
  {
    long: 'raw',
    value: 'FILE[:OFFSET[-END]]:VADDR',
    help: 'code as it was in memory at VADDR',
    repeat: true,
    group: CODE,
  },
  {
    long: 'elf',
    value: 'FILE[:VADDR]',
    help: 'the segments of an ELF file, at its own addresses or from VADDR on',
    repeat: true,
    group: CODE,
  },
  ...RANGES.flatMap((range): OptionRow<PtCodeName>[] => [
    {
      long: `filter:addr${range}_cfg`,
      value: 'N',
      help: 'an address filter of the recording, N from 0 to 3; USE is 0: none, 1: trace only here, 2: stop here',
      group: CODE,
      ...(range === 0 ? { shown: FILTER_FORM } : { hidden: true }),
    },
    { long: `filter:addr${range}_a`, value: 'N', help: 'its first address', group: CODE, hidden: true },
    { long: `filter:addr${range}_b`, value: 'N', help: 'its last address', group: CODE, hidden: true },
  ]),
];

/** Everything that `--raw` and `--elf` name; kept apart, so that it can be put into other images as well. */
export class NamedCode {
  readonly image = new CodeImage();
  readonly #sections: Parameters<CodeImage['addSection']>[0][] = [];
  readonly #files = new Map<string, Uint8Array<ArrayBuffer>>();

  add(code: Parameters<CodeImage['addSection']>[0]): void {
    this.image.addSection(code);
    this.#sections.push(code);
  }

  addTo(image: CodeImage): void {
    for (const code of this.#sections) image.addSection(code);
  }

  /** The whole of a file, read once. */
  file(path: string): Uint8Array<ArrayBuffer> {
    let bytes = this.#files.get(path);
    if (bytes === undefined) {
      bytes = readFilePart({ path, from: 0, to: null });
      this.#files.set(path, bytes);
    }
    return bytes;
  }
}

/** Segments that are too large to be read at once are read all the same: a decoder cannot wait. */
class EagerImage extends CodeImage {
  readonly wanted: Promise<void>[] = [];
  readonly #code: NamedCode;

  constructor(code: NamedCode) {
    super();
    this.#code = code;
  }

  override addSection(code: Parameters<CodeImage['addSection']>[0]): void {
    this.#code.add(code);
  }

  override addSource(code: Parameters<CodeImage['addSource']>[0]): void {
    const { source, offset, sizeBytes, ...placement } = code;
    this.wanted.push(source.read(offset, sizeBytes).then((bytes) => this.#code.add({ ...placement, bytes })));
  }
}

/** `--elf FILE[:VADDR]`, in the order given. */
export function elfFiles<Name extends string>(
  args: ParsedArguments<Name | PtCodeName>,
): { path: string; address: bigint | null }[] {
  return args.given
    .filter(({ name }) => name === 'elf')
    .map(({ value, shown }) => parseElf(value ?? '', shown));
}

function parseElf(value: string, shown: string): { path: string; address: bigint | null } {
  const match = /^(.+):(0[xX][0-9a-fA-F]+|[0-9]+)$/.exec(value);
  return {
    path: match?.[1] ?? value,
    address: match === null ? null : parseUnsigned(match[2]!, shown, U64),
  };
}

/** The code in the order given: what comes later lies on top. */
export async function namedCode<Name extends string>(
  args: ParsedArguments<Name | PtCodeName>,
): Promise<NamedCode> {
  const code = new NamedCode();
  for (const { name, value, shown } of args.given) {
    if (name === 'raw') {
      const { path, offset, end, address } = parseRawCode(value ?? '');
      const whole = code.file(path);
      if (offset > whole.length || (end ?? 0) > whole.length)
        throw new UsageError(`${shown} ${value}: ${path} has only ${whole.length} bytes`);
      code.add({ name: path, address, bytes: whole.subarray(offset, end ?? whole.length) });
    } else if (name === 'elf') {
      const { path, address } = parseElf(value ?? '', shown);
      const image = new EagerImage(code);
      try {
        await addElf(image, memorySource(code.file(path)), { name: path, address, machines: X86_MACHINES });
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        throw new CounterpointError(
          'ERR_ELF',
          `${path}: ${error.message}`,
          'Use --raw for code that is not an ELF file.',
        );
      }
      await Promise.all(image.wanted);
    }
  }
  return code;
}

/**
 * Half a range would be none, or one from address 0 on: neither is what somebody
 * wanted who gave the other half.
 */
function checkRange<Name extends string>(
  args: ParsedArguments<Name | PtCodeName>,
  range: 0 | 1 | 2 | 3,
): void {
  const names = (['cfg', 'a', 'b'] as const).map((part): RangeName => `filter:addr${range}_${part}`);
  const missing = names.filter((name) => !args.has(name)).map((name) => `--${name}`);
  if (missing.length === 0 || missing.length === names.length) return;
  // Off, whatever its ends are.
  if (args.string(names[0]!) === '0') return;
  throw new UsageError(
    `the address range ${range} is incomplete: ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
    `Give all three: --${names[0]} 1 --${names[1]} FIRST --${names[2]} LAST.`,
  );
}

export function addressFilter<Name extends string>(args: ParsedArguments<Name | PtCodeName>): AddressFilter {
  for (const range of RANGES) checkRange(args, range);
  const ranges = RANGES.map(
    (range): AddressRange => ({
      use: Number(unsigned<Name | PtCodeName>(args, `filter:addr${range}_cfg`, 2n)),
      first: unsigned<Name | PtCodeName>(args, `filter:addr${range}_a`, U64),
      last: unsigned<Name | PtCodeName>(args, `filter:addr${range}_b`, U64),
    }),
  );
  for (const [range, { use, first, last }] of ranges.entries())
    if (use !== FILTER_OFF && first > last)
      throw new UsageError(
        `--filter:addr${range}_a is greater than --filter:addr${range}_b: no address is in that range`,
      );
  return new AddressFilter(ranges.filter(({ use }) => use !== FILTER_OFF));
}

/** Finds the files that records name: as named (below `sysroot`), or beside the trace. */
export function codeOpener(
  tracePath: string,
  sysroot: string,
  special: ReadonlyMap<string, string>,
): (path: string) => Uint8Array | null {
  const known = new Map<string, Uint8Array | null>();
  const tryRead = (path: string): Uint8Array | null => {
    try {
      return new Uint8Array(readFileSync(path));
    } catch {
      return null;
    }
  };
  return (path) => {
    let bytes = known.get(path);
    if (bytes === undefined) {
      const file = special.get(path);
      if (path.startsWith('[')) bytes = file === undefined ? null : tryRead(file);
      else bytes = tryRead(`${sysroot}${path}`) ?? tryRead(join(dirname(tracePath), basename(path)));
      known.set(path, bytes);
    }
    return bytes;
  };
}
