/**
 * Call chains that the format stacks has kept, against records of the same
 * overflows, each with its own chain.
 */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { PERF_CONTEXT_KERNEL, PERF_CONTEXT_MAX, PERF_CONTEXT_USER } from '@counterpoint/core/abi';
import type { Sample } from '@counterpoint/core/records';
import { recordSamples, noFormats as skip } from '../../../test/format-recording.ts';
import { besideCuts } from '../../../test/losses.ts';
import { liveHandles } from '../../kernel/sys/index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

/** Starts programs, which fault in user space and, copying to it, in the kernel. */
const FAULTS = ['sh', '-c', 'ls -l /proc/self /usr/bin | cat | wc -c; sleep 0'];

/** The kernel mixes up its own records of a software event that is there twice. */
const RECORDS = 'on-miss,user-stack';

/** Frames without frame pointers can go round in circles: both are cut off somewhere behind this. */
const COMPARED_WORDS = 60;

const chainOf = ({ pid, ip, callchain }: Sample) =>
  [pid, ip, ...callchain!.slice(0, COMPARED_WORDS)].join(' ');

/** Overflows by process, address and call chain. */
function byChain(samples: readonly Sample[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const chain = chainOf(sample);
    counts.set(chain, (counts.get(chain) ?? 0) + Number(sample.period));
  }
  return counts;
}

/** Marks of the parts are above all addresses. */
const FIRST_MARK = BigInt.asUintN(64, BigInt(PERF_CONTEXT_MAX));

const total = (counts: ReadonlyMap<string, number>) =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

test("every page fault's call chain is the one that a record of this fault has", { skip }, async () => {
  const faults = { command: FAULTS, events: 'page-faults', period: 1, callGraph: true } as const;
  const { result, events } = await recordSamples({ ...faults, formats: [RECORDS, 'stacks'] });
  const [records, stacks] = events.map(({ samples }) => byChain(samples)) as [
    Map<string, number>,
    Map<string, number>,
  ];
  assert.deepEqual(besideCuts(result.loss), []);
  assert.ok(
    records.size > 100 && total(records) > records.size,
    `${records.size} chains of ${total(records)} faults`,
  );
  // Faults of the kernel on behalf of a program have two parts.
  const ofKernel = events[1]!.samples.filter(({ ip }) => BigInt.asIntN(64, ip!) < 0n);
  assert.ok(ofKernel.length > 10 && ofKernel.every(({ callchain }) => callchain!.length > 4));
  assert.deepEqual(stacks, records);
  const read = Number(result.formats[1]!.bytesRead);
  assert.ok(read > 0 && read < 400 * stacks.size, `${read} bytes for ${stacks.size} chains`);
});

test('the user part alone, and what there is no room for: counted, as the address alone', {
  skip,
}, async () => {
  const faults = { command: FAULTS, events: 'page-faults', period: 1, callGraph: true } as const;
  const user = await recordSamples({ ...faults, callchains: 'user', formats: [RECORDS, 'stacks'] });
  const [records, stacks] = user.events.map(({ samples }) => byChain(samples));
  assert.deepEqual(stacks, records);
  const { result, events } = await recordSamples({ ...faults, formats: [RECORDS, 'stacks,max-stacks=2'] });
  const [all, kept] = events.map(({ samples }) => byChain(samples)) as [
    Map<string, number>,
    Map<string, number>,
  ];
  const losses = besideCuts(result.loss);
  const lost = losses.reduce((sum, { count }) => sum + Number(count), 0);
  assert.deepEqual([...new Set(losses.map(({ kind }) => kind))], ['format-stack-collision']);
  assert.equal(total(kept), total(all));
  const unknown = [...kept].filter(([chain]) => !all.has(chain));
  assert.ok(unknown.every(([chain]) => chain.split(' ').length === 4));
  const missing = unknown.reduce((sum, [, count]) => sum + count, 0);
  // Of those that are lost some had no callers.
  assert.ok(missing > 0 && missing <= lost && lost < total(all), `${missing} of ${lost} of ${total(all)}`);
});

test('the parts of chains that are wanted, and as many frames, without -g too', { skip }, async () => {
  const faults = { command: FAULTS, events: 'page-faults', period: 1 } as const;
  const chains = async (callchains: 'user' | 'kernel' | 'both', format: string) => {
    const { events } = await recordSamples({ ...faults, callchains, formats: [format] });
    return events[0]!.samples.map(({ ip, callchain }) => ({
      isKernel: BigInt.asIntN(64, ip!) < 0n,
      frames: callchain!.filter((word) => word < FIRST_MARK),
    }));
  };
  // Without frame pointers a user part has words that are no addresses, some of them negative.
  const isOfKernel = (address: bigint) => address >> 48n === 0xffffn;
  const user = await chains('user', 'stacks');
  assert.ok(user.some(({ isKernel }) => isKernel));
  for (const { frames } of user) assert.ok(!frames.some(isOfKernel), frames.join(' '));
  const kernel = await chains('kernel', 'stacks,depth=4');
  const lengths = kernel.filter(({ isKernel }) => isKernel).map(({ frames }) => frames.length);
  assert.equal(Math.max(...lengths), 4);
  assert.ok(kernel.every(({ isKernel, frames }) => !isKernel || frames.every(isOfKernel)));
  const both = await chains('both', 'stacks,depth=4');
  for (const isOf of [true, false]) {
    const mostFrames = Math.max(
      ...both.filter(({ isKernel }) => isKernel === isOf).map(({ frames }) => frames.length),
    );
    assert.equal(mostFrames, 4, isOf ? 'of the kernel' : 'of user space');
  }
});

const MARKS: ReadonlySet<bigint> = new Set(
  [PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER].map((mark) => BigInt.asUintN(64, BigInt(mark))),
);
/** Without frame pointers a chain may have words such as -2, which are no marks. */
const isMark = (word: bigint) => MARKS.has(word);

test('the usual event, which is less precise here than wished: one mark for each part', {
  skip,
}, async () => {
  const { result, events } = await recordSamples({
    command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=512', 'count=300000', 'status=none'],
    frequency: 5000,
    formats: ['stacks'],
  });
  assert.deepEqual(besideCuts(result.loss), []);
  const { samples } = events[0]!;
  const ofKernel = samples.filter(({ ip }) => BigInt.asIntN(64, ip!) < 0n);
  assert.ok(ofKernel.length > 5, `${ofKernel.length} samples of the kernel`);
  for (const { ip, callchain } of samples) {
    const marks = callchain!.filter(isMark);
    assert.equal(new Set(marks).size, marks.length, callchain!.join(' '));
    assert.ok(isMark(callchain![0]!) && callchain![1] === ip, callchain!.join(' '));
  }
  const twice = ofKernel.filter(({ callchain }) => callchain![1] === callchain![2]);
  assert.deepEqual(twice, []);
});

/** Nearly every sample has a call stack of its own: one of a million ways down. */
const MANY_WAYS = `
  const left = (bits, n) => (n === 0 ? spin() : bits & 1 ? left(bits >> 1, n - 1) + 1 : right(bits >> 1, n - 1) + 2);
  const right = (bits, n) => (n === 0 ? spin() : bits & 1 ? left(bits >> 1, n - 1) + 3 : right(bits >> 1, n - 1) + 4);
  const spin = () => { let sum = 0; for (let i = 0; i < 20000; i++) sum += i % 7; return sum; };
  while (process.cpuUsage().user < 2500000) left(Math.random() * 2 ** 20, 20);`;

test('more chains than all halves hold come out whole: halves are emptied while programs run', {
  skip,
}, async () => {
  const { result, events } = await recordSamples({
    command: ['taskset', '-c', '0', process.execPath, '-e', MANY_WAYS],
    ...{ events: 'cpu-clock:u', period: 250_000, formats: ['stacks,max-stacks=512'] },
  });
  const { samples } = events[0]!;
  const lost = result.loss
    .filter(({ kind }) => kind === 'format-stack-collision')
    .reduce((sum, { count }) => sum + Number(count), 0);
  const whole = samples.filter(({ callchain }) => callchain!.length > 20);
  const different = new Set(whole.map(({ callchain }) => callchain!.slice(2).join(' '))).size;
  assert.ok(different > 2 * 2 * 512, `${different} chains of ${samples.length} samples, ${lost} lost`);
  assert.ok(
    lost < 0.2 * Number(result.formats[0]!.overflows),
    `${lost} lost of ${result.formats[0]!.overflows}`,
  );
});
