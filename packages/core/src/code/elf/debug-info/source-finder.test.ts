/**
 * Functions, inlined functions and lines against addr2line of binutils, for thousands of addresses of
 * programs that compilers of this machine make, and of one that is here anyway.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memorySource } from '../../../base/index.ts';
import { Random } from '../../../test/random.ts';
import { type ElfFile, findSection, openElf, readSymbols, SHF_EXECINSTR } from '../index.ts';
import {
  findSources,
  readDebugSections,
  type SourceFrame,
  SplitPackage,
  splitUnit,
  type UnitFile,
  unitFile,
} from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'dwarf-sources-'));
after(() => rmSync(folder, { recursive: true }));
const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0;
const absent = has('g++') && has('addr2line') ? false : 'g++ and addr2line are not here';
const FIXTURES = fileURLToPath(new URL('../../../../../../fixtures/dwarf/', import.meta.url));
/** Lines of `inlines.cpp`. */
const OWN_LINES = readFileSync(join(FIXTURES, 'inlines.cpp'), 'utf8').split('\n').length;

const open = (path: string): Promise<ElfFile> => openElf(memorySource(new Uint8Array(readFileSync(path))));

/** Addresses of all code, however it is distributed. */
function someAddresses({ sections }: ElfFile, count: number): number[] {
  const random = new Random(7);
  const code = sections.filter(({ flags, size }) => (flags & SHF_EXECINSTR) !== 0 && size > 0);
  const total = code.reduce((sum, { size }) => sum + size, 0);
  return Array.from({ length: count }, () => {
    let at = random.below(total);
    for (const { address, size } of code) {
      if (at < size) return address + at;
      at -= size;
    }
    return 0;
  });
}

/** `name place` for each frame, the innermost first. */
function addr2line(path: string, addresses: number[]): string[][] {
  // Where a file is that it shares with others, it asks the current folder.
  const { stdout } = spawnSync('addr2line', ['-a', '-i', '-f', '-e', basename(path)], {
    cwd: dirname(path),
    input: addresses.map((address) => `${address.toString(16)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const answers: string[][] = [];
  let name: string | null = null;
  for (const line of stdout.split('\n')) {
    if (/^0x(?:[0-9a-f]{8}){1,2}$/.test(line)) answers.push([]);
    else if (name === null) name = line;
    else {
      answers.at(-1)!.push(`${name} ${withoutDots(line)}`);
      name = null;
    }
  }
  return answers;
}

/** The path without `.` and `..`; `0` where the line is not known. */
function withoutDots(text: string): string {
  const [, path = '', line = ''] = /^(.*):(\d+|\?)(?: \(discriminator \d+\))?$/.exec(text) ?? [];
  const parts: string[] = [];
  for (const part of path.split('/'))
    if (part === '..' && parts.length > 1) parts.pop();
    else if (part !== '.') parts.push(part);
  return `${parts.join('/')}:${line === '?' ? 0 : line}`;
}

const ours = ({ functionName, file, line }: SourceFrame): string =>
  `${functionName || '??'} ${file || '??'}:${line}`;

/**
 * What addr2line says where it is right. It takes the symbol of the whole code for the name of a function
 * whose entry has no linkage name: of the function itself, and of the innermost one, also where that is
 * inlined. Where there is no line it knows the symbol only. At the beginning of some functions it takes the
 * first file of the unit for the file of the line, which is longer than that file then.
 */
function isSame(mine: string[], theirs: string[], symbols: ReadonlySet<string>): boolean {
  if (mine.length === 0) return theirs.length === 1 && theirs[0]!.endsWith(':0');
  return (
    mine.length === theirs.length &&
    mine.every((frame, at) => {
      const other = theirs[at]!;
      if (frame === other) return true;
      const name = other.slice(0, other.lastIndexOf(' '));
      const isEdge = at === 0 || at === mine.length - 1;
      if (isEdge && symbols.has(name) && frame.endsWith(other.slice(name.length))) return true;
      const line = Number(/inlines\.cpp:(\d+)$/.exec(other)?.[1] ?? 0);
      return line > OWN_LINES && frame.endsWith(`:${line}`);
    })
  );
}

/** Shares of the addresses with lines, and of those with inlined functions. */
async function compare(
  path: string,
  { count = 2000, shared = null }: { count?: number; shared?: string | null } = {},
): Promise<{ known: number; inlined: number }> {
  const elf = await open(path);
  const sharedSections = shared === null ? null : await readDebugSections(await open(shared));
  const sections = await readDebugSections(elf, '', sharedSections);
  assert.ok(sections !== null);
  const addresses = someAddresses(elf, count);
  const found = await findSources(unitFile(sections), addresses);
  const theirs = addr2line(path, addresses);
  const names = new Set<string>();
  const symbols = await readSymbols(elf, 'symtab');
  for (let row = 0; row < (symbols?.count ?? 0); row++) names.add(symbols!.name(row));
  const differing = addresses.flatMap((address, at) => {
    const mine = found[at]!.map(ours);
    return isSame(mine, theirs[at]!, names)
      ? []
      : [`0x${address.toString(16)}\n${mine.join('\n')}\naddr2line:\n${theirs[at]!.join('\n')}`];
  });
  assert.equal(differing.length, 0, `${differing.length} differ: ${differing.slice(0, 3).join('\n')}`);
  assert.equal(elf.damage.total, 0);
  return {
    known: found.filter((frames) => frames.length > 0).length / count,
    inlined: found.filter((frames) => frames.length > 1).length / count,
  };
}

/** Without libraries: on Debian those of 32 bits exclude the cross compilers. */
const WITHOUT_LIBRARIES = ['-m32', '-nostdlib', '-static'];

function build(name: string, ...flags: string[]): string | null {
  const source = flags.includes('-nostdlib') ? 'work.c' : 'inlines.cpp';
  copyFileSync(join(FIXTURES, source), join(folder, source));
  const words = ['-std=c++17', ...flags, source, '-o', name];
  return spawnSync('g++', words, { cwd: folder }).status === 0 ? join(folder, name) : null;
}

const BUILDS: [string, string[]][] = [
  ['version 5', ['-O2', '-gdwarf-5']],
  ['version 4', ['-O2', '-gdwarf-4']],
  ['version 3', ['-O2', '-gdwarf-3', '-gstrict-dwarf']],
  ['version 2', ['-O2', '-gdwarf-2', '-gstrict-dwarf']],
  ['the 64-bit format', ['-O2', '-gdwarf-4', '-gdwarf64']],
  ['compressed', ['-O2', '-gdwarf-5', '-gz=zlib']],
  ['compressed by Zstandard', ['-O2', '-gdwarf-5', '-Wl,--compress-debug-sections=zstd']],
  ['no optimisation, a fixed place', ['-O0', '-gdwarf-5', '-no-pie']],
  [
    'a section for each function, some left out',
    ['-O3', '-gdwarf-5', '-ffunction-sections', '-Wl,--gc-sections'],
  ],
  ['at link time', ['-O2', '-gdwarf-5', '-flto']],
  ['32-bit code', ['-O3', '-gdwarf-5', ...WITHOUT_LIBRARIES]],
];

for (const [name, flags] of BUILDS)
  test(`functions, inlined ones and lines of g++: ${name}`, { skip: absent }, async (context) => {
    const path = build('program', ...flags);
    if (path === null) return context.skip(`g++ does not know ${flags.join(' ')}`);
    const { known, inlined } = await compare(path, { count: name === 'version 5' ? 10_000 : 2000 });
    assert.ok(known > 0.8, `${known}`);
    if (!flags.includes('-O0')) assert.ok(inlined > 0.5, `${inlined}`);
  });

const noDwz = absent || (has('dwz') ? false : 'dwz is not here');

test('what dwz made of it: entries that units share, in the file and in one beside it', {
  skip: noDwz,
}, async () => {
  const alone = build('alone', '-O2', '-gdwarf-4')!;
  const twin = build('twin', '-O2', '-gdwarf-4')!;
  const other = build('other', '-O2', '-gdwarf-4')!;
  assert.equal(spawnSync('dwz', [alone]).status, 0);
  const { inlined } = await compare(alone);
  assert.ok(inlined > 0.5);
  const shared = join(folder, 'shared.dbg');
  assert.equal(spawnSync('dwz', ['-m', shared, twin, other]).status, 0);
  assert.ok(findSection(await open(twin), '.gnu_debugaltlink') !== null);
  const answer = await compare(twin, { count: 10_000, shared });
  assert.ok(answer.inlined > 0.5);
});

const RUST = `
fn mix(mut h: u64) -> u64 { h ^= h >> 33; h = h.wrapping_mul(0xff51afd7ed558ccd); h ^ (h >> 29) }
#[inline(never)] fn sorted(n: u64) -> u64 {
  let mut v: Vec<u64> = (0..n).map(mix).collect();
  v.sort();
  v.iter().fold(0, |a, b| a ^ b.rotate_left(3))
}
#[inline(never)] fn words(n: u64) -> u64 {
  let mut m = std::collections::HashMap::new();
  for i in 0..n { *m.entry(format!("key{}", mix(i) % 500)).or_insert(0) += i; }
  m.values().map(|v| mix(*v)).fold(0, |a, b| a ^ b)
}
fn main() { println!("{}", sorted(5000) ^ words(1000)); }
`;

test('a Rust program', { skip: absent || (has('rustc') ? false : 'rustc is not here') }, async () => {
  writeFileSync(join(folder, 'program.rs'), RUST);
  const words = ['-O', '-g', 'program.rs', '-o', 'rust'];
  assert.equal(spawnSync('rustc', words, { cwd: folder }).status, 0);
  const { known, inlined } = await compare(join(folder, 'rust'), { count: 10_000 });
  assert.ok(known > 0.5 && inlined > 0.25, `${known} ${inlined}`);
});

test('node itself, where it has debug information', { skip: absent }, async (context) => {
  const elf = await open(process.execPath);
  if (findSection(elf, '.debug_info') === null) return context.skip('this node has none');
  const { known } = await compare(process.execPath);
  assert.ok(known > 0);
});

for (const version of [4, 5])
  test(`split debug information of version ${version}: from its file, and out of a package`, async () => {
    const code = await open(join(FIXTURES, `split-${version}.elf`));
    const file = unitFile((await readDebugSections(code))!);
    const { address, size } = findSection(code, '.text')!;
    const addresses = Array.from({ length: size }, (_, at) => address + at);
    const find = async (part: (id: string) => Promise<UnitFile['sections'] | null>) => {
      const options = {
        splitUnit: async (unit: UnitFile['units'][number]) => {
          const sections = await part(unit.splitId);
          return sections === null ? null : splitUnit(sections, unit);
        },
      };
      return (await findSources(file, addresses, options)).map((frames) => frames.map(ours));
    };
    const alone = await find(async () =>
      readDebugSections(await open(join(FIXTURES, `split-${version}.elf-count.dwo`)), '.dwo'),
    );
    const packed = await open(join(FIXTURES, `split-${version}.dwp`));
    assert.deepEqual(await find(async (id) => (await SplitPackage.read(packed))!.sectionsOf(id)), alone);
    const functions = new Set(alone.flat().map((frame) => frame.split(' ')[0]));
    assert.ok(functions.has('count') && functions.has('_start'), [...functions].join());
    assert.equal((await find(async () => null)).flat().filter((frame) => !frame.startsWith('?? ')).length, 0);
    assert.equal(code.damage.total, 0);
  });
