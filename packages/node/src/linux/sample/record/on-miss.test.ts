/** Records of a handler's own, against the kernel's of the same overflows. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { PERF_REGISTERS } from '@counterpoint/core/abi';
import type { Sample } from '@counterpoint/core/records';
import { recordSamples, noFormats as skip } from '../../../test/format-recording.ts';
import { liveHandles } from '../../kernel/sys/index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const BUSY = ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'];

test("each hit of a tracepoint with its kernel stack, as in the kernel's own records", { skip }, async () => {
  const { events } = await recordSamples({
    command: ['sh', '-c', 'sleep 0.01; sleep 0.01; sleep 0.01'],
    events: 'sched:sched_switch',
    callGraph: true,
    callchains: 'kernel',
    formats: ['ring', 'on-miss'],
  });
  const [kernel, own] = events.map((event) => event.samples) as [Sample[], Sample[]];
  assert.ok(kernel.length >= 6 && own.length >= kernel.length, `${own.length} of ${kernel.length}`);
  const seen = ({ ip, pid, tid, cpu, callchain }: Sample) => [ip, pid, tid, cpu, ...callchain!].join(' ');
  const unmatched = own.map(seen);
  // A program also sees what is before the command's exec, and the end of each process.
  for (const one of kernel.map(seen)) {
    const index = unmatched.indexOf(one);
    assert.ok(index >= 0, `${one} is not among\n${unmatched.join('\n')}`);
    unmatched.splice(index, 1);
  }
});

test('page faults with their addresses', { skip }, async () => {
  const { result, events } = await recordSamples({
    command: ['sleep', '0'],
    events: 'page-faults',
    period: 1,
    formats: ['on-miss,user-stack'],
  });
  const { samples } = events[0]!;
  assert.equal(BigInt(samples.length), result.formats[0]!.overflows);
  // A fault of the code itself is at its own address.
  assert.ok(samples.some(({ ip, addr }) => ip === addr));
  assert.ok(samples.every(({ addr }) => addr! > 0n));
});

test('each third overflow, with registers and the user stack', { skip }, async () => {
  const { result, events } = await recordSamples({
    command: BUSY,
    events: 'task-clock',
    period: 500_000,
    formats: ['on-miss,every=3,user-stack,registers,kernel-stack=no'],
  });
  const own = events[0]!.samples;
  const { overflows } = result.formats[0]!;
  const thirds = Number(overflows) / 3;
  // The counts are by CPU, and each may have two that are not yet three.
  assert.ok(own.length <= thirds && own.length > thirds - 64, `${own.length} of ${overflows}`);
  const names = PERF_REGISTERS[process.arch as 'x64' | 'arm64'].filter((name) => name !== null);
  for (const { ip, period, interruptRegisters, callchain } of own) {
    assert.equal(period, 1_500_000n);
    assert.equal(interruptRegisters!.registers.length, names.length);
    assert.equal(interruptRegisters!.registers[names.indexOf(process.arch === 'x64' ? 'ip' : 'pc')], ip);
    // In user space the chain begins where it was.
    if (BigInt.asIntN(64, ip!) >= 0n) assert.equal(callchain![1], ip);
  }
});

test('what the ring has no room for is counted', { skip }, async () => {
  const { result, events } = await recordSamples({
    command: BUSY,
    events: 'cpu-clock',
    systemWide: true,
    period: 50_000,
    formats: ['on-miss,ring=4096,user-stack'],
  });
  const { overflows } = result.formats[0]!;
  const lost = result.loss.filter(({ kind }) => kind === 'format-ring-full');
  const count = lost.reduce((sum, one) => sum + Number(one.count), 0);
  assert.ok(count > 0, 'a ring of a page was enough');
  assert.equal(BigInt(events[0]!.samples.length + count), overflows);
});

test('a tracepoint: of the target only, and where the kernel was', { skip }, async () => {
  const { events } = await recordSamples({
    command: ['sleep', '0.1'],
    events: 'sched:sched_switch',
    formats: ['on-miss'],
  });
  const own = events[0]!.samples;
  assert.ok(own.length > 0);
  assert.equal(new Set(own.map(({ pid }) => pid)).size, 1);
  assert.ok(own.every(({ ip, callchain }) => BigInt.asIntN(64, ip!) < 0n && callchain![1] === ip));
});

test('what cannot be is said', { skip }, async () => {
  const attempt = (format: string, events = 'task-clock') =>
    recordSamples({ command: ['true'], events, formats: [format] });
  await assert.rejects(attempt('on-miss,ring=5000'), { code: 'ERR_FORMAT_OPTION', message: /power of two/ });
  await assert.rejects(
    recordSamples({ command: ['true'], events: 'page-faults', formats: ['on-miss', 'ring'] }),
    { code: 'ERR_FORMAT_EVENT', message: /mixes up/ },
  );
  await assert.rejects(attempt('on-miss,registers', 'sched:sched_switch'), {
    code: 'ERR_FORMAT_OPTION',
    message: /no registers/,
  });
});
