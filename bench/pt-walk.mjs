// Side of bench/pt-interpreter.ts: a trace of a walk through a program's own code, as
// examples/intel-pt/make-trace.js makes one, with timing packets or without. Arguments: PROGRAM TRACE
// MEGABYTES base|cyc; prints the instructions.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { memorySource } from '@counterpoint/core/base';
import { findSection, openElf, readSectionBytes } from '@counterpoint/core/elf';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { calledFunctions, ExecutionEncoder, RandomWalk } from '@counterpoint/trace/intel-pt';

const [program, output, megabytes, timing] = process.argv.slice(2);
const source = memorySource(new Uint8Array(readFileSync(program)));
const elf = await openElf(source);
const text = findSection(elf, '.text');
const entries = calledFunctions(await readSectionBytes(elf, text), BigInt(text.address));
const image = new CodeImage();
await addElf(image, source, { name: program });
const walk = new RandomWalk({ seed: 1, entries, interruptEvery: 400 });
const isTimed = timing === 'cyc';
const encoder = new ExecutionEncoder(image, walk, { tsc: isTimed, mtc: isTimed, cyc: isTimed, hash: false });
const file = openSync(output, 'w');
for (const chunk of encoder.chunks({ bytes: Number(megabytes) * 1e6 })) writeSync(file, chunk);
closeSync(file);
console.log(encoder.truth.instructions);
