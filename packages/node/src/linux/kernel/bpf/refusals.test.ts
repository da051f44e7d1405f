import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import {
  cannotLoad,
  countingProgram,
  EXIT,
  goes,
  makeMap,
  makeProgram,
  returns,
} from '../../../test/bpf-programs.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import { listMaps, loadPrograms, probeFeatures, VerifierError, verifierLog } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const sys = realSys;

describe('what the verifier refuses', { skip }, () => {
  const refused = (...slots: Parameters<typeof makeProgram>[2]): VerifierError => {
    try {
      loadPrograms(sys, [makeProgram('bad', 'perf-event', slots)]).close();
    } catch (error) {
      if (error instanceof VerifierError) return error;
      throw error;
    }
    throw new Error('the verifier accepted it');
  };

  test('names the line, the instruction, the reason and what was known', () => {
    const error = refused(returns(0), [0x79, 0, 2, 0, 0], EXIT);
    assert.equal(error.verdict.instruction, 1);
    assert.equal(error.line?.line, 2);
    assert.match(
      error.message,
      /^format\.ts:2:3: .*"bad" at instruction 1, \(79\) r0 = \*\(u64 \*\)\(r2 \+0\): R2 !read_ok/,
    );
    assert.match(error.verdict.registers ?? '', /R1=ctx/);
    assert.match(error.remedy, /no value on some path/);
  });

  test('what is wrong before any path is followed has its line, too', () => {
    const outside = refused(returns(0), [0x05, 0, 0, 5, 0], EXIT);
    assert.deepEqual([outside.verdict.instruction, outside.line?.line], [1, 2]);
    const unreachable = refused(returns(0), EXIT, returns(1), EXIT);
    assert.deepEqual([unreachable.verdict.instruction, unreachable.line?.line], [2, 3]);
    assert.match(unreachable.remedy, /No path leads there/);
    const context = refused([0x79, 0, 1, 4000, 0], EXIT);
    assert.deepEqual([context.verdict.instruction, context.line?.line], [0, 1]);
    assert.match(context.remedy, /No field/);
  });

  test('a log of many instructions is read whole', () => {
    const nothing: [number, number, number, number, number] = [0xb7, 3, 0, 0, 1];
    const error = refused(...new Array(40_000).fill(nothing), [0x79, 0, 9, 0, 0], EXIT);
    assert.equal(error.verdict.instruction, 40_000);
    assert.ok(error.log.length > 1 << 20);
  });

  test('leaves nothing behind', async () => {
    const name = `left_${process.pid}`;
    const good = makeProgram('good', 'perf-event', [returns(0), EXIT], [makeMap(name, 'hash')]);
    const bad = makeProgram('bad', 'perf-event', [EXIT]);
    assert.throws(() => loadPrograms(sys, [good, bad]), VerifierError);
    await goes(() => listMaps(sys).some((map) => map.name === name));
  });

  test('lists what it accepts when it is asked', () => {
    const { log, isAccepted } = verifierLog(sys, countingProgram('perf-event', 0));
    assert.equal(isAccepted, true);
    assert.match(log, /5: \(85\) call bpf_map_lookup_elem#1/);
  });
});

test('two maps of one name must be one', () => {
  const program = (maxEntries: number, name: string) =>
    makeProgram(name, 'perf-event', [returns(0), EXIT], [makeMap('same', 'hash', { maxEntries })]);
  assert.throws(
    () => loadPrograms(sys, [program(1, 'a'), program(2, 'b')]),
    (error) => error instanceof CounterpointError && error.code === 'ERR_BPF_MAP_CLASH',
  );
  assert.throws(() => loadPrograms(sys, [program(1, 'a'), program(1, 'a')]), /two programs are called "a"/);
});

test('this kernel is probed by what it does', { skip }, () => {
  const features = probeFeatures(sys)!;
  for (const type of ['hash', 'per-cpu-hash', 'stack-trace', 'ring-buffer'] as const)
    assert.ok(features.mapTypes.has(type), type);
  assert.ok(features.programTypes.has('perf-event'));
});
