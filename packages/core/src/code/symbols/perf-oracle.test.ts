/**
 * The same names as `perf script` gives, for thousands of addresses of real
 * binaries and of the running kernel.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { MemoryDriver } from '../../test/memory-driver.ts';
import { noPerf } from '../../test/perf.ts';
import { perfNamesOfFile, perfNamesOfKernel } from '../../test/perf-names.ts';
import { Random } from '../../test/random.ts';
import { type ElfFile, openElf, PF_X, PT_LOAD, readSymbols, SHF_EXECINSTR } from '../elf/index.ts';
import { demangle } from './demangle/demangle.ts';
import {
  type CodeSymbols,
  kallsymsAddress,
  kernelCodeSymbols,
  loadCodeSymbols,
  parseKallsyms,
} from './index.ts';

const ADDRESSES = 2000;
const BINARIES = [process.execPath, ...sharedLibraries(process.execPath), '/usr/bin/perf'].filter((path) =>
  existsSync(path),
);

/** The C and C++ libraries and whatever else the running node is linked with. */
function sharedLibraries(path: string): string[] {
  const { stdout } = spawnSync('ldd', [path], { encoding: 'utf8' });
  return [...(stdout ?? '').matchAll(/(\/\S+)/g)].map((match) => realpathSync(match[1]!));
}

/** Name as perf prints it, and offset. */
function nameAt(table: CodeSymbols, address: number): string {
  const symbol = table.lookup(address);
  return symbol === -1
    ? '[unknown]'
    : `${table.name(symbol)}+0x${(address - table.start(symbol)).toString(16)}`;
}

/** Offsets of code: anywhere in it, and the first bytes of functions, where several names meet. */
async function codeOffsets(elf: ElfFile, random: Random): Promise<number[]> {
  const segments = elf.segments.filter((one) => one.type === PT_LOAD && (one.flags & PF_X) !== 0);
  const offsets = Array.from({ length: ADDRESSES }, () => {
    const segment = random.pick(segments);
    return segment.offset + random.below(segment.fileSize);
  });
  const symbols = (await readSymbols(elf, 'symtab')) ?? (await readSymbols(elf, 'dynsym'));
  for (let count = 0; count < ADDRESSES && symbols !== null; count++) {
    const value = symbols.value(random.below(symbols.count));
    const segment = segments.find((one) => value >= one.address && value < one.address + one.fileSize);
    if (segment !== undefined) offsets.push(value - segment.address + segment.offset);
  }
  // perf 6.1 counts relocations to name stubs, and is wrong where the linker sorted them (glibc); see
  // code/elf/plt.test.ts. What is left of _init's section it lets reach over the stubs.
  const code = elf.sections.filter(
    (section) => (section.flags & SHF_EXECINSTR) !== 0 && !/^\.(init|plt)/.test(section.name),
  );
  return offsets.filter((offset) =>
    code.some((section) => offset >= section.offset && offset < section.offset + section.size),
  );
}

for (const path of BINARIES) {
  test(`names in ${path} are those of perf script`, { skip: noPerf }, async () => {
    const bytes = new Uint8Array(readFileSync(path));
    const elf = await openElf(memorySource(bytes));
    const driver = new MemoryDriver();
    driver.files.set(`binary ${path}`, bytes);
    const debug = debugFile(path);
    if (debug !== null) driver.files.set(`debug ${path}`, debug);
    const table = await loadCodeSymbols({ path, buildId: '', kind: 'user', pid: -1 }, driver, []);
    assert.ok(table !== null);
    const offsets = await codeOffsets(elf, new Random(bytes.length));
    const theirs = perfNamesOfFile(path, bytes.length, offsets);
    const different = offsets
      .map((offset, index) => ({ offset, ours: nameAt(table, offset), theirs: readMangled(theirs[index]!) }))
      .filter(({ ours, theirs: other }) => ours !== other);
    // Where symbols are nested perf takes the one its tree holds nearer to the root: some
    // assembler code of OpenSSL.
    assert.ok(different.length <= offsets.length / 500, JSON.stringify(different.slice(0, 5), null, 1));
    assert.ok(
      different.every(({ offset }) => isNested(table, offset)),
      JSON.stringify(different, null, 1),
    );
  });
}

/** Names of C++20 (constrained templates, as newer versions of Node have them) stay mangled in perf 6.1. */
function readMangled(text: string): string {
  return text.replace(/^_Z[\w.$]+/, (name) => demangle(name));
}

/** True where another symbol than the found one also covers or starts in its bytes. */
function isNested(table: CodeSymbols, offset: number): boolean {
  const found = table.lookup(offset);
  if (found === -1) return false;
  for (let other = 0; other < table.length; other++) {
    const overlaps = table.start(other) < table.end(found) && table.end(other) > table.start(found);
    if (other !== found && overlaps) return true;
  }
  return false;
}

/** The separate debug file that perf would find, by build id. */
function debugFile(path: string): Uint8Array<ArrayBuffer> | null {
  const id = /Build ID: (\w+)/.exec(
    spawnSync('readelf', ['-n', path], { encoding: 'utf8' }).stdout ?? '',
  )?.[1];
  const debug = `/usr/lib/debug/.build-id/${id?.slice(0, 2)}/${id?.slice(2)}.debug`;
  return id !== undefined && existsSync(debug) ? new Uint8Array(readFileSync(debug)) : null;
}

test('names in the kernel are those of perf script', { skip: noPerf || noKallsyms() }, () => {
  const kallsyms = parseKallsyms(new Uint8Array(readFileSync('/proc/kallsyms')));
  const table = kernelCodeSymbols(kallsyms, { module: 0, shift: 0 });
  const text = kallsymsAddress(kallsyms, '_text');
  const size = kallsymsAddress(kallsyms, '_etext') - text;
  const random = new Random(17);
  const addresses = Array.from({ length: ADDRESSES }, () => text + random.below(size));
  const unsigned = (address: number) => BigInt.asUintN(64, BigInt(address));
  const theirs = perfNamesOfKernel(unsigned(text), addresses.map(unsigned));
  assert.deepEqual(
    addresses.map((address) => nameAt(table, address)),
    theirs,
  );
});

function noKallsyms(): string | false {
  if (!existsSync('/proc/kallsyms')) return 'there is no /proc/kallsyms';
  const { isRestricted, count } = parseKallsyms(new Uint8Array(readFileSync('/proc/kallsyms')));
  return isRestricted || count === 0 ? 'this user may not see kernel addresses' : false;
}
