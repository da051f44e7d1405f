import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { memorySource } from '@counterpoint/core/base';
import { EM_X86_64, findSection, openElf, PT_LOAD, readSectionBytes } from '@counterpoint/core/elf';
import { addElf, CodeImage } from '../code/image/index.ts';
import { calledFunctions } from '../pt/index.ts';
import type { OracleCode } from './libipt-oracle.ts';

export function joinChunks(chunks: Iterable<Uint8Array>): Uint8Array<ArrayBuffer> {
  const all = [...chunks];
  const bytes = new Uint8Array(all.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of all) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

const PROGRAMS: [string, bigint][] = [
  ['/bin/gzip', 0x40_0000_0000n],
  ['/lib/x86_64-linux-gnu/libc.so.6', 0x40_0292_4000n],
];

/**
 * Programs of this machine as the loader places them, with the target of every direct call in
 * them; null on other machines.
 */
export async function loadPrograms(): Promise<{
  image: CodeImage;
  code: OracleCode[];
  entries: Int32Array;
} | null> {
  const image = new CodeImage();
  const code: OracleCode[] = [];
  const entries: number[] = [];
  for (const [path, address] of PROGRAMS) {
    if (!existsSync(path)) return null;
    const source = memorySource(new Uint8Array(readFileSync(path)));
    const elf = await openElf(source);
    if (elf.machine !== EM_X86_64) return null;
    await addElf(image, source, { name: path, address });
    for (const segment of elf.segments.filter((one) => one.type === PT_LOAD && one.fileSize > 0))
      code.push({
        path,
        offset: segment.offset,
        sizeBytes: segment.fileSize,
        address: address + BigInt(segment.address),
      });
    const text = findSection(elf, '.text');
    assert.ok(text !== null);
    const bytes = (await readSectionBytes(elf, text))!;
    entries.push(...calledFunctions(bytes, address + BigInt(text.address)));
  }
  return { image, code, entries: Int32Array.from(entries) };
}
