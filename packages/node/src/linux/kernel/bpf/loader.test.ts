import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { countingProgram, EXIT, makeMap, makeProgram, returns } from '../../../test/bpf-programs.ts';
import { FakeSys } from '../sys/fake-sys.ts';
import { Fd, liveHandles, SysError } from '../sys/index.ts';
import {
  attachToEvent,
  BpfMap,
  explainRefusal,
  indexKey,
  listPrograms,
  loadPrograms,
  possibleCpus,
  programsOnTracepoint,
  VerifierError,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const cpus = [0, 1];
const EPERM = 1;
const EINVAL = 22;
const ALL = (1n << 38n) | (1n << 39n);
const files = { read: () => null, obstacle: () => 'ENOENT', link: () => null, list: () => [] };

describe('loading', () => {
  test('programs share maps by name, and their descriptors are in the places of the references', () => {
    const sys = new FakeSys();
    const first = countingProgram('perf-event', 0, 'first');
    using set = loadPrograms(sys, [first, countingProgram('perf-event', 0, 'second')], { cpus });
    assert.equal(sys.maps.length, 1);
    const { fd } = set.map('counters');
    for (const { instructions } of sys.programs) {
      const view = new DataView(instructions.buffer);
      // r1 of the pair, with BPF_PSEUDO_MAP_FD in the source's place.
      assert.equal(view.getUint8(3 * 8 + 1), 0x11);
      assert.equal(view.getInt32(3 * 8 + 4, true), fd.number);
    }
    assert.equal(first.instructions[3 * 8 + 4], 0, 'the program itself was changed');
    assert.throws(() => set.map('absent'), /no map "absent" was loaded/);
  });

  test('the address of a value has its offset in the second slot', () => {
    const sys = new FakeSys();
    const slots = [[0x18, 2, 0, 0, 0], [0, 0, 0, 0, 0], returns(0), EXIT] as const;
    const program = {
      ...makeProgram('value', 'perf-event', slots, [makeMap('array', 'array', { valueSizeBytes: 64 })]),
      mapReferences: [{ instruction: 0, map: 'array', kind: 'value' as const, offsetBytes: 24 }],
    };
    using set = loadPrograms(sys, [program], { cpus });
    const view = new DataView(sys.programs[0]!.instructions.buffer);
    assert.equal(view.getUint8(1), 0x22);
    assert.equal(view.getInt32(4, true), set.map('array').fd.number);
    assert.equal(view.getInt32(12, true), 24);
  });

  test('a refused program is asked for again with a log that is large enough, and takes the others along', () => {
    const sys = new FakeSys();
    const filling = '0: (b7) r0 = 0\n'.repeat(100_000);
    const log = `${filling}1: (95) exit\nR0 !read_ok\nprocessed 2 insns\n`;
    sys.refuseProgram = ({ name }) => (name === 'bad' ? { errno: 'EACCES', log } : null);
    const bad = makeProgram('bad', 'perf-event', [returns(0), EXIT]);
    assert.throws(
      () => loadPrograms(sys, [countingProgram('perf-event', 0), bad], { cpus }),
      (error) => error instanceof VerifierError && error.log === log && error.line?.line === 2,
    );
    assert.equal(sys.closed.length, 2);
  });

  test('a refused map takes those before it along', () => {
    const sys = new FakeSys();
    sys.refuseMap = ({ name }) => (name === 'second' ? 'ENOMEM' : null);
    const maps = [makeMap('first', 'hash'), makeMap('second', 'hash')];
    assert.throws(
      () => loadPrograms(sys, [], { maps, cpus }),
      (error) => error instanceof CounterpointError && error.code === 'ERR_BPF_MEMORY',
    );
    assert.equal(sys.closed.length, 1);
  });

  test('without rights the missing capabilities are named, and no log is made up', () => {
    const sys = new FakeSys();
    sys.capabilities = 1n << 38n;
    sys.refuseProgram = () => ({ errno: 'EPERM', log: '' });
    assert.throws(
      () => loadPrograms(sys, [countingProgram('perf-event', 0)], { cpus }),
      (error) =>
        error instanceof CounterpointError &&
        error.code === 'ERR_BPF_RIGHTS' &&
        /CAP_BPF missing/.test(error.message) &&
        !/CAP_PERFMON/.test(error.message),
    );
  });
});

describe('refusals', () => {
  const refused = new SysError('bpf PROG_LOAD', EPERM);
  const explained = (capabilities: bigint, lockdown: string | null = null): CounterpointError => {
    const sys = new FakeSys();
    sys.capabilities = capabilities;
    const read = (path: string) => (path.endsWith('lockdown') ? lockdown : null);
    return explainRefusal(sys, 'it', refused, { ...files, read }) as CounterpointError;
  };

  test('say what is missing, or that it is something else', () => {
    assert.match(explained(0n).message, /CAP_BPF and CAP_PERFMON missing/);
    assert.match(explained(ALL, 'none [confidentiality]').message, /locked down/);
    assert.match(explained(ALL, '[none]').message, /although the capabilities are there/);
    assert.equal(explained(ALL).cause, refused);
  });

  test('of something else come back as they are', () => {
    const other = new SysError('bpf', EINVAL);
    assert.equal(explainRefusal(new FakeSys(), 'it', other, files), other);
  });
});

test('the machine may be listed by its administrator only', () => {
  const sys = new FakeSys();
  sys.bpfNextId = () => {
    throw new SysError('bpf PROG_GET_NEXT_ID', EPERM);
  };
  assert.throws(
    () => listPrograms(sys),
    (error) => error instanceof CounterpointError && /CAP_SYS_ADMIN missing/.test(error.message),
  );
  sys.queryBpf = () => [7];
  sys.bpfOpenById = () => {
    throw new SysError('bpf PROG_GET_FD_BY_ID', EPERM);
  };
  using event = new Fd(98, () => {});
  assert.deepEqual(programsOnTracepoint(sys, event), [{ id: 7, name: null }]);
});

test('a link tells the program which event it is', () => {
  const sys = new FakeSys();
  using set = loadPrograms(sys, [countingProgram('perf-event', 0)], { cpus });
  using event = new Fd(99, () => {});
  using attachment = attachToEvent(sys, set.program('count'), event, 7n);
  assert.equal(attachment.kind, 'link');
  assert.deepEqual(sys.attachments, [`link ${set.program('count').fd.number} 99 7`]);
});

test('a kernel without links attaches by the event, and cannot tell events apart', () => {
  const sys = new FakeSys();
  sys.bpfLinkCreate = () => {
    throw new SysError('bpf LINK_CREATE', EINVAL);
  };
  using set = loadPrograms(sys, [countingProgram('perf-event', 0)], { cpus });
  using event = new Fd(99, () => {});
  assert.equal(attachToEvent(sys, set.program('count'), event).kind, 'event');
  assert.deepEqual(sys.controls, ['setBpf 99']);
  assert.throws(
    () => attachToEvent(sys, set.program('count'), event, 7n),
    (error) => error instanceof CounterpointError && error.code === 'ERR_BPF_ATTACH',
  );
});

test('a kernel without batches is read element by element', () => {
  const sys = new FakeSys();
  const definition = makeMap('old', 'hash', { maxEntries: 10 });
  const request = { name: 'old', type: 1, keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 10, flags: 0 };
  using map = new BpfMap(sys, definition, sys.bpfMapCreate(request), 2);
  for (let index = 0; index < 5; index++) map.update(indexKey(index), new Uint8Array(8).fill(index));
  const found = [...map.batches('lookup-and-delete')].map(({ keys, values }) => [keys[0], values[0]]);
  assert.deepEqual(found, [
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
  ]);
  assert.deepEqual([...map.keys()], []);
});

test('CPUs that could be there are counted, and a list that cannot be read is an error', () => {
  const at = (text: string | null) => possibleCpus({ read: () => text });
  assert.deepEqual(at('0-3'), [0, 1, 2, 3]);
  assert.deepEqual(at('0,2-3'), [0, 2, 3]);
  for (const text of [null, '', '0-', 'x']) assert.throws(() => at(text), /not a list of CPUs/);
});
