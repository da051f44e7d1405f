import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BpfMachine } from '../../../test/bpf-machine.ts';
import { BpfAssembler } from './assembler.ts';
import { r0 } from './operands.ts';
import { ownPidNamespace, type PidNamespace } from './pid-namespace.ts';

const INODE = 4026532178n;

test('the first pid namespace is none, another one has the device as the kernel has it', () => {
  const at = (dev: bigint, ino: bigint) => ownPidNamespace(() => ({ dev, ino }));
  assert.equal(at(4n, 4026531836n), null);
  assert.deepEqual(at(4n, INODE), { device: 4n, inode: INODE });
  // Minor number 0x1234, major number 0x56: makedev(3) and MKDEV of linux/kdev_t.h.
  assert.deepEqual(at(0x1205634n, INODE), { device: 0x5601234n, inode: INODE });
  const missing = ownPidNamespace(() => {
    throw new Error('ENOENT');
  });
  assert.equal(missing, null);
});

test("who runs, by the numbers of a namespace; the kernel's own stay", () => {
  const write = (pidNamespace: PidNamespace | null, load: (asm: BpfAssembler) => void) => {
    const asm = new BpfAssembler({ name: 'who', type: 'perf-event', architecture: 'x64', pidNamespace });
    load(asm);
    asm.exit();
    return asm.assemble();
  };
  const run = (pidNamespace: PidNamespace | null, load: (asm: BpfAssembler) => void) =>
    new BpfMachine(write(pidNamespace, load), {
      get_current_pid_tgid: () => (7700n << 32n) | 7800n,
      get_ns_current_pid_tgid: ([device, inode, at, size], { view }) => {
        assert.deepEqual([device, inode, size], [4n, INODE, 8n]);
        view.setUint32(Number(at), 78, true);
        view.setUint32(Number(at) + 4, 77, true);
        return 0n;
      },
    }).run();
  const inside = { device: 4n, inode: INODE };
  assert.equal(
    run(inside, (asm) => asm.loadProcessId(r0)),
    77n,
  );
  assert.equal(
    run(inside, (asm) => asm.loadThreadId(r0)),
    78n,
  );
  assert.equal(
    run(inside, (asm) => asm.loadProcessAndThread(r0)),
    (77n << 32n) | 78n,
  );
  assert.equal(
    run(inside, (asm) => asm.loadKernelProcessId(r0)),
    7700n,
  );
  assert.equal(
    run(inside, (asm) => asm.loadKernelThreadId(r0)),
    7800n,
  );
  assert.equal(
    run(null, (asm) => asm.loadProcessId(r0)),
    7700n,
  );
  assert.equal(
    run(null, (asm) => asm.loadThreadId(r0)),
    7800n,
  );
  // A call and nothing else.
  assert.equal(write(null, (asm) => asm.loadProcessAndThread(r0)).instructions.length, 16);
});
