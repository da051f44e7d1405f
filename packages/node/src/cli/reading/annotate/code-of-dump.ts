/**
 * Code that was made while the program ran, out of the dump that its runtime wrote (jitdump:
 * `node --perf-prof`, Java's and other agents). The recording has the dump's path, because
 * the runtime maps it for that.
 */
import { PERF_RECORD_MMAP, PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import { type Diagnostic, FormatError } from '@counterpoint/core/base';
import { type JitCodeLoad, type JitDump, type JitLine, parseJitDump } from '@counterpoint/core/jit';
import { mappedJitDump } from '@counterpoint/core/machine';
import type { PerfDataReader } from '@counterpoint/core/perfdata';
import { decodeRecord } from '@counterpoint/core/records';
import { type CodeOfBinary, type CodeRequest, type FunctionCode, NoCode } from './code-of-binary.ts';
import type { FunctionSamples } from './function-samples.ts';

const MOST_DUMP_BYTES = 1 << 30;

/** Paths of dumps by process. */
export async function dumpsOf(reader: PerfDataReader): Promise<Map<number, string>> {
  const le = reader.littleEndian;
  const dumps = new Map<number, string>();
  await reader.scan({
    record(view, start, end, type) {
      if (type !== PERF_RECORD_MMAP && type !== PERF_RECORD_MMAP2) return;
      const event = reader.events.eventOf(view, start, end, type, le) ?? reader.events.events[0] ?? null;
      const dump = mappedJitDump(decodeRecord(view, start, end - start, event?.layout ?? null, le));
      if (dump !== null) dumps.set(dump.pid, dump.path);
    },
  });
  return dumps;
}

export async function codeOfDump(
  { driver, pid, diagnostics }: CodeRequest,
  path: string | undefined,
): Promise<CodeOfBinary | NoCode> {
  if (path === undefined)
    return new NoCode(
      'it was made while the program ran, and the program wrote no dump of it',
      'Start Node with --perf-prof, or another runtime with its agent for jitdump, and record again.',
    );
  const file = await driver.open({ need: 'jitdump', path, buildId: '', pid, required: true }, []);
  if (file === null)
    return new NoCode(
      `it was made while the program ran, and its dump is not at ${path}`,
      'Keep the dump where the program wrote it.',
    );
  try {
    const dump = parseJitDump(await file.read(0, Math.min(file.size, MOST_DUMP_BYTES)));
    return new DumpCode(dump, path, diagnostics);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return new NoCode(`the dump of its code cannot be read: ${error.message}`);
  } finally {
    await file.close?.();
  }
}

interface Loaded {
  load: JitCodeLoad;
  lines: readonly JitLine[];
}

class DumpCode implements CodeOfBinary {
  readonly #machine: number;
  /** By address, in the order in which code was put there; moved code is at its last place. */
  readonly #loads = new Map<bigint, Loaded[]>();
  #ordered: bigint[] | null = null;

  readonly #path: string;
  readonly #diagnostics: Diagnostic[];

  constructor(dump: JitDump, path: string, diagnostics: Diagnostic[]) {
    this.#machine = dump.machine;
    this.#path = path;
    this.#diagnostics = diagnostics;
    const byIndex = new Map<bigint, Loaded>();
    let lines: readonly JitLine[] = [];
    for (const record of dump.records) {
      if (record.kind === 'debug-info') lines = record.lines;
      else if (record.kind === 'load') {
        const loaded = { load: record, lines };
        lines = [];
        byIndex.set(record.codeIndex, loaded);
        this.#add(record.address, loaded);
      } else if (record.kind === 'move') {
        const moved = byIndex.get(record.codeIndex);
        if (moved !== undefined) this.#add(record.newAddress, moved);
      }
    }
  }

  #add(address: bigint, loaded: Loaded): void {
    const known = this.#loads.get(address);
    if (known === undefined) this.#loads.set(address, [loaded]);
    else known.push(loaded);
  }

  async codeOf({ start, recordedName, byOffset }: FunctionSamples): Promise<FunctionCode | NoCode> {
    const address = BigInt(start);
    const there = this.#loads.get(address) ?? [];
    // Memory is used again: the name tells which of the functions that were there it was.
    const named = there.filter(({ load }) => load.name === recordedName);
    const found = named.at(-1) ?? (there.length === 1 ? there[0] : undefined);
    if (found === undefined)
      return new NoCode(
        there.length === 0
          ? 'the dump of generated code does not have it'
          : `${there.length} functions were there one after the other, and none has this name`,
      );
    const { load, lines } = found;
    if (load.code.length === 0) return new NoCode('the dump has only its name');
    const last = [...byOffset.keys()].reduce((most, offset) => Math.max(most, offset), 0);
    if (last >= load.code.length) return new NoCode('the code in the dump is shorter than what ran');
    return {
      bytes: load.code,
      machine: this.#machine,
      address,
      path: null,
      nameAt: (target) => this.#nameAt(target),
      sourcesAt: async (offsets) => {
        this.#noteNameless(lines, load.name);
        return offsets.map((offset) => framesAt(lines, load.address + BigInt(offset), load.name));
      },
    };
  }

  /** V8 overwrites names before it writes them; the reader of the dump finds most of them elsewhere. */
  #noteNameless(lines: readonly JitLine[], functionName: string): void {
    const count = lines.filter(({ file }) => file === '').length;
    if (count === 0) return;
    this.#diagnostics.push({
      code: 'jitdump-source-names',
      path: this.#path,
      detail: `the runtime overwrote names of source files in it: ${count} of ${lines.length} places of ${functionName} have no line`,
      remedy: '',
    });
  }

  #nameAt(target: bigint): string | null {
    this.#ordered ??= [...this.#loads.keys()].sort((a, b) => (a < b ? -1 : 1));
    const at = this.#ordered.findLast((address) => address <= target);
    const load = at === undefined ? undefined : this.#loads.get(at)!.at(-1)!.load;
    if (at === undefined || load === undefined || target >= at + BigInt(load.sizeBytes)) return null;
    return target === at ? load.name : `${load.name}+0x${(target - at).toString(16)}`;
  }

  async close(): Promise<void> {}
}

/** The last line that begins at or before the address; none if its file is not known. */
function framesAt(lines: readonly JitLine[], address: bigint, functionName: string) {
  let found: JitLine | undefined;
  for (const line of lines)
    if (line.address <= address && (found === undefined || line.address >= found.address)) found = line;
  return found === undefined || found.file === ''
    ? []
    : [{ functionName, file: found.file, line: found.line, column: found.discriminator }];
}
