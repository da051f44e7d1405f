/** The call tree and the exact profile as tables of samples, on pt/own, whose program has symbols. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { assertTableInvariants, frameName, NONE, type Profile } from '@counterpoint/core/profile';
import { corpusFiles, corpusText } from '../../../../../core/src/test/corpus.ts';
import { CONTENT_OFFSET, tinyElf } from '../../../../../core/src/test/tiny-elf.ts';
import { addElf, CodeImage } from '../../../code/image/index.ts';
import { NO_ERRATA } from '../../packets/errata.ts';
import { CallTrace } from '../calls/index.ts';
import { profileTrace } from '../profile-trace.ts';
import { CodeFunctions, profileOfCalls, profileOfExact } from './index.ts';

const SETTINGS = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };
const files = new Map(corpusFiles('pt/own').map(({ name, bytes }) => [name, bytes]));
const { instructions } = JSON.parse(corpusText('pt/own/base.json')!);

async function load(): Promise<{ image: CodeImage; functions: CodeFunctions }> {
  const image = new CodeImage();
  const functions = new CodeFunctions();
  const source = memorySource(files.get('program.elf')!);
  await addElf(image, source, { name: '/opt/program' });
  await functions.addElf(source, { name: '/opt/program' });
  return { image, functions };
}

/** Weights of an event by function. */
function byFunction(profile: Profile, event: number): Map<string, number> {
  const sums = new Map<string, number>();
  const { samples, stacks } = profile;
  for (let row = 0; row < samples.length; row++) {
    if (samples.event.at(row) !== event) continue;
    const name = frameName(profile, stacks.frame.at(samples.stack.at(row)));
    sums.set(name, (sums.get(name) ?? 0) + samples.weight.at(row));
  }
  return sums;
}

test('exact counts and the call tree agree on each function', async () => {
  const { image, functions } = await load();
  const bytes = files.get('cyc.pt')!;
  const exact = profileTrace(bytes, image, { settings: SETTINGS });
  const flat = profileOfExact(exact.profile, functions, exact);
  assertTableInvariants(flat);
  assert.deepEqual(
    flat.events.map(({ name, samples, sumPeriod }) => [name, samples, sumPeriod]),
    [['instructions', instructions, BigInt(instructions)]],
  );
  const trace = new CallTrace(bytes, image, { settings: SETTINGS, functions, withTree: true }, {});
  const calls = trace.run();
  const clock = { timeZero: 1000n, timeShift: 30, timeMult: Math.round((2 ** 30 * 10) / 21) };
  const tree = profileOfCalls(calls, functions, { clock, comm: 'program', pid: 7 });
  assertTableInvariants(tree);
  assert.equal(tree.events[0]!.sumPeriod, BigInt(instructions));
  assert.equal(tree.events[1]!.unit, 'nanoseconds');
  // Instructions of a function are the same, by whatever path it was called.
  assert.deepEqual([...byFunction(tree, 0)].sort(), [...byFunction(flat, 0)].sort());
  assert.ok(byFunction(flat, 0).size > 5);
  assert.ok([...byFunction(flat, 0).keys()].every((name) => !name.startsWith('0x')));
  // All the time that was traced is somebody's: to a nanosecond for each path.
  const total = tree.events[1]!.samples;
  const ticks = trace.clock.ticks;
  assert.ok(Math.abs(total - (ticks * 10) / 21) <= calls.tree!.length, `${total} ns of ${ticks} ticks`);
  assert.ok(byFunction(tree, 1).get('[not traced]')! > 0);
  const deepest = Math.max(...tree.samples.stack.view().map((stack) => depthOf(tree, stack)));
  assert.ok(deepest > 64, `depth ${deepest}`);
});

test('without symbols, and without time', async () => {
  const { image } = await load();
  const flat = new CallTrace(files.get('base.pt')!, image, {}, {}).run();
  assert.throws(() => profileOfCalls(flat), { code: 'ERR_ARGUMENT', remedy: /withTree/ });
  const trace = new CallTrace(files.get('base.pt')!, image, { withTree: true }, {});
  const profile = profileOfCalls(trace.run());
  assertTableInvariants(profile);
  assert.deepEqual(
    profile.events.map(({ name }) => name),
    ['instructions'],
  );
  assert.equal(profile.events[0]!.sumPeriod, BigInt(instructions));
});

function depthOf(profile: Profile, stack: number): number {
  let depth = 0;
  for (let row = stack; row !== NONE; row = profile.stacks.prefix.at(row)) depth++;
  return depth;
}

test('a file without segments is no place for functions', async () => {
  const functions = new CodeFunctions();
  for (const address of [null, 0x1000n])
    await assert.rejects(functions.addElf(memorySource(tinyElf({})), { name: 'debug', address }), {
      code: 'ERR_NO_SEGMENTS',
    });
});

test('a name that many functions have: some of their addresses, not a page of them', async () => {
  const functions = new CodeFunctions();
  const symbols = Array.from({ length: 1000 }, (_, at) => ({
    name: 'same',
    value: 0x1000 + 4 * at,
    size: 4,
  }));
  const bytes = tinyElf({
    sections: [{ name: '.text', type: 1, flags: 6, address: 0x1000, bytes: new Uint8Array(4000) }],
    segments: [{ type: 1, offset: CONTENT_OFFSET, address: 0x1000, fileSize: 4000 }],
    symbols,
  });
  await functions.addElf(memorySource(bytes), { name: 'program' });
  assert.throws(
    () => functions.addressOf('same'),
    /1000 functions are named same: 0x1000, .*, 0x101c, \.\.\.$/,
  );
  assert.throws(() => functions.addressOf('other'), /no function is named other/);
  assert.equal(functions.addressOf('0x1004'), 0x1004n);
});
