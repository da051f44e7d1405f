/**
 * Writes a trace of a program as a processor with Intel PT would, for machines that have none:
 *
 *     node examples/intel-pt/make-trace.js "$(node -p process.execPath)" walk.pt 10
 *
 * The code is the program's own; the way through it is a walk by chance, not what the program does. What was
 * walked is known exactly, so a decoder can be checked with it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { memorySource } from '@counterpoint/core/base';
import { EM_X86_64, findSection, openElf, readSectionBytes } from '@counterpoint/core/elf';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { calledFunctions, ExecutionEncoder, RandomWalk } from '@counterpoint/trace/intel-pt';

/** Where the program's own calls lead: there the walk begins, and goes on where it is lost. */
async function functionsOf(elf) {
  const text = findSection(elf, '.text');
  const bytes = text === null ? null : await readSectionBytes(elf, text);
  if (elf.machine !== EM_X86_64 || bytes === null)
    throw new Error('it is no x86-64 program with a section .text');
  const entries = calledFunctions(bytes, BigInt(text.address));
  if (entries.length === 0) throw new Error('no function of it calls another');
  return entries;
}

const [program, output, megabytes = '4'] = process.argv.slice(2);
if (output === undefined || !(Number(megabytes) > 0)) {
  console.error('usage: node make-trace.js PROGRAM TRACE [MEGABYTES]');
  process.exit(2);
}
try {
  await makeTrace();
} catch (error) {
  console.error(`no trace of ${program} was made: ${error.message}`);
  process.exit(1);
}

async function makeTrace() {
  const source = memorySource(new Uint8Array(readFileSync(program)));
  const image = new CodeImage();
  await addElf(image, source, { name: program });
  const walk = new RandomWalk({
    seed: 1,
    entries: await functionsOf(await openElf(source)),
    interruptEvery: 400,
  });
  const encoder = new ExecutionEncoder(image, walk, { tsc: true, mtc: true, cyc: true });
  writeFileSync(output, '');
  for (const chunk of encoder.chunks({ bytes: Number(megabytes) * 1e6 }))
    writeFileSync(output, chunk, { flag: 'a' });

  const { instructions, calls, addressHash } = encoder.truth;
  const hash = `0x${addressHash.toString(16).padStart(8, '0')}`;
  console.log(`${output}: ${instructions} instructions, ${calls} calls, address hash ${hash}`);
}
