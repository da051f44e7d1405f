/** Sampling formats at overflows of the hardware's cycles. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, before, describe, test } from 'node:test';
import { PERF_REGISTERS } from '@counterpoint/core/abi';
import { parseEvents } from '@counterpoint/core/events';
import type { Sample } from '@counterpoint/core/records';
import { recordSamples } from '../../../test/format-recording.ts';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { openSampledEvents, planEvents, planOpen } from '../../kernel/perf-events/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { checkFormatOptions, FormatRun, findFormat } from '../formats/index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const PERIOD = 1_000_000;
const COMMAND = ['busybox', 'md5sum', '/host/file'];
const quiet = { stdio: ['ignore', 'ignore', 'ignore'] } as const;

before(() => writeFileSync('/host/file', new Uint8Array(2_000_000)));

const sumOf = (samples: readonly Sample[]) => samples.reduce((sum, { period }) => sum + Number(period), 0);

function work(rounds: number): number {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum = (sum + i * i) | 0;
  return sum;
}

test("a histogram's periods and what was skipped are the counter's own count", async () => {
  const options = {
    frequency: 1000,
    period: BigInt(PERIOD),
    isRateGiven: true,
    callchains: 'none',
    inherit: false,
    wholeCpus: false,
    enableOnExec: false,
    startsLater: false,
    levels: 'all',
  } as const;
  const planned = planEvents(parseEvents('cycles', systemEventLookup()), options);
  const target = { tasks: [process.pid], cpus: [0] };
  const sampled = openSampledEvents(realSys, planOpen(planned, target, 8, 8), { notes: [] });
  const format = await findFormat('histogram');
  const run = FormatRun.open(realSys, {
    format,
    options: checkFormatOptions('histogram', format.options, {}),
    events: sampled.events,
    target: { kind: 'threads', cpus: target.cpus, ids: target.tasks, inherits: false },
  });
  sampled.enable();
  work(20_000_000);
  sampled.disable();
  run.stop();
  let counted = 0;
  for await (const table of run.results())
    for (const { period } of run.samples(table)) counted += Number(period);
  const { overflows, losses } = run.finish();
  const words = new BigUint64Array(8);
  realSys.read(sampled.events[0]!.instances[0]!.fd, new Uint8Array(words.buffer));
  run.close();
  sampled.close();
  const skipped = losses.reduce(
    (sum, { kind, count }) => sum + (kind === 'format-skipped' ? Number(count) : 0),
    0,
  );
  assert.equal(counted, Number(overflows[0]) * PERIOD);
  // The emulated counter interrupts late at times: what it then runs over is said.
  const missing = Number(words[0]) - counted - skipped * PERIOD;
  assert.ok(counted > 20 * PERIOD, `${counted} of ${words[0]}`);
  assert.ok(missing >= 0 && missing <= 3 * PERIOD, `${missing} of ${words[0]} neither counted nor skipped`);
});

describe('recordings', () => {
  test('two formats at once, and the kernel beside them, see the same cycles', async () => {
    const { result, events } = await recordSamples({
      command: COMMAND,
      events: 'cycles',
      period: PERIOD,
      formats: ['histogram', 'stacks', 'ring'],
      launch: { stdio: [...quiet.stdio] },
    });
    const [histogram, stacks] = events.map(({ samples }) => sumOf(samples)) as [number, number];
    // With a fixed period the kernel's records do not say it.
    const ring = events[2]!.samples.length * PERIOD;
    assert.ok(ring > 20 * PERIOD, `${ring} cycles`);
    for (const sum of [histogram, stacks])
      assert.ok(Math.abs(sum - ring) < ring / 4, `${sum} and ${ring} cycles`);
    const [first, second] = result.formats;
    assert.deepEqual(
      [first, second].map((one) => Number(one!.overflows) * PERIOD),
      [histogram, stacks],
    );
    const chains = events[1]!.samples.map(({ callchain }) => callchain!.length);
    assert.ok(Math.max(...chains) > 3, 'call chains of more than an address');
  });

  test('records of a handler with the registers of the interruption', async () => {
    const { events } = await recordSamples({
      command: COMMAND,
      events: 'cycles',
      period: PERIOD,
      formats: ['on-miss,registers'],
      launch: { stdio: [...quiet.stdio] },
    });
    const { samples } = events[0]!;
    const pc = PERF_REGISTERS.arm64.indexOf('pc');
    assert.ok(samples.length > 20, `${samples.length} samples`);
    for (const { ip, interruptRegisters, callchain } of samples) {
      assert.equal(interruptRegisters!.registers[pc], ip);
      const isKernel = BigInt.asIntN(64, ip!) < 0n;
      assert.equal(isKernel ? callchain![1] : callchain!.length, isKernel ? ip : 0);
    }
  });

  test('time off the CPU beside cycles', async () => {
    const { events } = await recordSamples({
      command: ['busybox', 'sleep', '1'],
      events: 'cycles',
      period: PERIOD,
      formats: ['ring', 'off-cpu,ready=no'],
    });
    const slept = sumOf(events[1]!.samples) / 1e9;
    assert.equal(events[1]!.name, 'offcpu-time');
    // The second begins before the switch: 2 ms in an emulated machine.
    assert.ok(slept > 0.9 && slept < 3, `${slept} s`);
  });

  test('this CPU has no record of its own', async () => {
    await assert.rejects(recordSamples({ command: ['true'], events: 'cycles', formats: ['precise'] }), {
      code: 'ERR_NOT_PRECISE',
      message: /armv8\w* has no precise sampling/,
    });
  });
});
