/**
 * Three questions to a raw trace: which functions, how long does the hottest
 * take, what was executed in order.
 *
 *     node examples/intel-pt/profile.js node walk.pt
 */
import { readFileSync } from 'node:fs';
import { hiOf, loOf, memorySource } from '@counterpoint/core/base';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import {
  AddressHash,
  CallTrace,
  CodeFunctions,
  FunctionLatency,
  profileInParts,
  profileOfExact,
  streamInstructions,
} from '@counterpoint/trace/intel-pt';
import { topFunctions } from 'counterpoint';
import { partWorkers, workersFor } from 'counterpoint/trace';

const [program, file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node profile.js PROGRAM TRACE');
  process.exit(2);
}
const trace = new Uint8Array(readFileSync(file));
const binary = memorySource(new Uint8Array(readFileSync(program)));

// The code that was traced. Where a program was loaded elsewhere than its file says: {
// name, address: 0x555555554000n }.
const image = new CodeImage();
await addElf(image, binary, { name: program });
const functions = new CodeFunctions();
await functions.addElf(binary, { name: program });

// 1. Exact counts, by as many threads as pay; then the tables that samples have, so that every query and export takes them.
const exact = await profileInParts(trace, image, { workers: partWorkers(workersFor(trace.length)) });
for (const { code, count, firstOffset } of exact.errors)
  console.log(`${count} times ${code}, first at ${firstOffset}`);
if (exact.profile.totals().instructions === 0) {
  console.error(`nothing was decoded: is ${file} a trace, and ${program} the program that was traced?`);
  process.exit(1);
}
const profile = profileOfExact(exact.profile, functions, exact);
const { rows } = topFunctions(profile, { sort: ['symbol'] });
for (const { symbol, percent } of rows.slice(0, 5))
  console.log(`${percent.toFixed(2).padStart(6)}%  ${symbol}`);

// 2. Every call, with its time; here only those of one function are kept. A record is borrowed: copy what is to stay.
const settings = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84 };
const listener = {};
const calls = new CallTrace(trace, image, { settings, functions }, listener);
const start = functions.addressesOf(rows[0].symbol)[0] ?? 0n;
const latency = new FunctionLatency(calls.addresses, loOf(start), hiOf(start));
listener.onLeave = (call) => latency.add(call);
calls.run();
const { ticks } = latency;
if (ticks.count > 0)
  console.log(
    `${rows[0].symbol}: ${ticks.count} calls, half of them within ${ticks.percentile(50)} ticks of the TSC`,
  );
else console.log(`${rows[0].symbol}: no call of it has a time`);

// 3. Every address, in order: up to 65,536 at a time, as low and high halves in arrays that are filled again.
const hash = new AddressHash();
let instructions = 0;
streamInstructions(trace, image, {}, (lo, hi, count) => {
  instructions += count;
  hash.add(lo, hi, count);
});
console.log(`${instructions} instructions, address hash ${hash.toString()}`);
