import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Assembler {
  names: string[];
  head: string;
  options: string[];
  package: string;
}

const ASSEMBLERS: Record<string, Assembler> = {
  x64: {
    names: ['x86_64-linux-gnu-as', ...(process.arch === 'x64' ? ['as'] : [])],
    head: '.intel_syntax noprefix\n',
    options: ['--64'],
    package: 'binutils',
  },
  arm64: {
    names: ['aarch64-linux-gnu-as', ...(process.arch === 'arm64' ? ['as'] : [])],
    head: '',
    options: [],
    package: 'binutils-aarch64-linux-gnu',
  },
};

export const ASSEMBLED_ARCHITECTURES: readonly string[] = Object.keys(ASSEMBLERS);

/** The GNU assembler for an architecture, or why there is none here. */
export function gnuAssembler(arch: string): { skip: string | false; assemble(listing: string): Uint8Array } {
  const { names, head, options, package: packageName } = ASSEMBLERS[arch]!;
  const name = names.find((one) => spawnSync(one, ['--version']).status === 0);
  return {
    skip: name === undefined ? `no assembler (Debian: ${packageName})` : false,
    assemble: (listing) => assemble(name!, options, head + listing),
  };
}

/** The .text section of what the GNU assembler makes of `source`. */
function assemble(name: string, options: readonly string[], source: string): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-code-'));
  try {
    const [input, output] = [join(dir, 'code.s'), join(dir, 'code.o')];
    writeFileSync(input, source);
    const result = spawnSync(name, [...options, '-o', output, input], { encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
    return textSection(readFileSync(output));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Section header 1 of the assembler's own output is always .text (ELF64, little endian). */
function textSection(elf: Uint8Array): Uint8Array {
  const view = new DataView(elf.buffer, elf.byteOffset, elf.byteLength);
  const header = Number(view.getBigUint64(0x28, true)) + view.getUint16(0x3a, true);
  const offset = Number(view.getBigUint64(header + 0x18, true));
  return elf.subarray(offset, offset + Number(view.getBigUint64(header + 0x20, true)));
}
