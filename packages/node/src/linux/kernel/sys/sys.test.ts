import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { afterEach, describe, test } from 'node:test';
import {
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_IOCTLS,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttr, encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { waiting } from '../../../test/until-told.ts';
import { FakeSys } from './fake-sys.ts';
import { Fd, liveHandles, realSys, type Sys, SysError, traceHandles } from './index.ts';
import { syscallNumbers } from './syscall-numbers.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

/** cpu-clock of this process in user space, which paranoid level 2 allows to everybody. */
const ownClock = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: BigInt(PERF_COUNT_SW_CPU_CLOCK),
  samplePeriodOrFreq: 200_000n,
  sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID),
  flags: { disabled: 1, excludeKernel: 1, excludeHv: 1 },
});

function canOpen(): string | false {
  try {
    realSys.perfEventOpen(encodeAttrShortest(ownClock), 0, -1, null).close();
    return false;
  } catch (error) {
    return `no perf events here: ${(error as Error).message}`;
  }
}
const skip = canOpen();

describe('handles', () => {
  test('closing twice closes once; a released descriptor stays open', () => {
    const closed: number[] = [];
    const fd = new Fd(77, (number) => closed.push(number));
    fd.close();
    fd.close();
    assert.deepEqual(closed, [77]);
    const given = new Fd(78, (number) => closed.push(number));
    assert.equal(given.release(), 78);
    given.close();
    assert.deepEqual(closed, [77]);
    assert.throws(() => given.release());
  });

  test('what is left open is listed, with its birth when traced', () => {
    traceHandles(true);
    const fd = new Fd(79, () => {});
    traceHandles(false);
    const [line = ''] = liveHandles();
    assert.match(line, /^fd 79 made at/);
    assert.ok(line.includes('sys.test'));
    fd[Symbol.dispose]();
    assert.deepEqual(liveHandles(), []);
  });
});

describe('ledger', () => {
  test('every ioctl of abi has one function, which names it when it fails', () => {
    const bad = new Fd(-1, () => {});
    const attempts: ((sys: Sys) => unknown)[] = [
      (sys) => sys.enable(bad),
      (sys) => sys.disable(bad, true),
      (sys) => sys.refresh(bad, 1),
      (sys) => sys.reset(bad),
      (sys) => sys.setPeriod(bad, 1n),
      (sys) => sys.setOutput(bad, null),
      (sys) => sys.setFilter(bad, 'x'),
      (sys) => sys.eventId(bad),
      (sys) => sys.setBpf(bad, bad),
      (sys) => sys.pauseOutput(bad, true),
      (sys) => sys.queryBpf(bad, 4),
      (sys) => sys.modifyAttributes(bad, encodeAttr(ownClock)),
    ];
    const names = attempts.map((attempt) => {
      try {
        attempt(realSys);
      } catch (error) {
        assert.ok(error instanceof SysError);
        assert.equal(error.code, 'EBADF');
        return error.call;
      }
      return 'did not fail';
    });
    bad.close();
    assert.deepEqual(
      names,
      PERF_IOCTLS.map(([name]) => `ioctl ${name}`),
    );
  });

  test('an architecture without numbers is refused in words', () => {
    assert.equal(syscallNumbers('arm64').perfEventOpen, 241);
    assert.throws(() => syscallNumbers('mips'), /not supported on mips/);
  });
});

describe('the real kernel', () => {
  test('limits, page size, clocks, capabilities', () => {
    const limit = realSys.resourceLimit('descriptors');
    assert.ok(limit.soft > 0 && limit.hard >= limit.soft);
    realSys.setResourceLimit('descriptors', limit);
    assert.deepEqual(realSys.resourceLimit('descriptors'), limit);
    assert.ok([4096, 16384, 65536].includes(realSys.pageSizeBytes()));
    const [before, after] = [realSys.clockNs(1), realSys.clockNs(1)];
    assert.ok(after >= before && realSys.clockResolutionNs(1) > 0n);
    assert.ok(realSys.effectiveCapabilities() >= 0n);
  });

  test('a process can be waited for, which blocks until it ends', () => {
    const target = waiting();
    const fd = realSys.pidfdOpen(target.pid);
    assert.equal(realSys.waitReadable(fd, 0), false);
    target.child.kill('SIGKILL');
    assert.equal(realSys.waitReadable(fd, 60_000), true);
    fd.close();
    assert.throws(() => realSys.pidfdOpen(999_999_999), { call: 'pidfd_open', code: 'ESRCH' });
  });

  test('errors carry the call, the errno and the arguments', () => {
    const fd = new Fd(openSync('/dev/null', 'r'));
    try {
      realSys.mmap(fd, 4096);
      assert.fail('mapped /dev/null for writing');
    } catch (error) {
      assert.ok(error instanceof SysError, String(error));
      assert.equal(error.call, 'mmap');
      assert.match(error.message, /mmap\(sizeBytes: 4096.*\((EACCES|ENODEV)\)/);
      assert.ok(error.errno > 0);
    } finally {
      fd.close();
    }
  });

  test('epoll tells readable from hung up, through the event loop', async () => {
    const child = spawn('/bin/sh', ['-c', 'echo one; read x'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const stdout = child.stdout as unknown as { _handle: { fd: number; readStop(): void } };
    stdout._handle.readStop();
    const fd = new Fd(stdout._handle.fd, () => {});
    const epoll = realSys.epollCreate();
    realSys.epollAdd(epoll, fd);
    const seen: boolean[] = [];
    await new Promise<void>((resolve) => {
      const watch = realSys.watch(epoll, () => {
        for (const ready of realSys.epollPoll(epoll)) {
          assert.equal(ready.number, fd.number);
          seen.push(ready.hasHungUp);
          if (ready.hasHungUp) {
            realSys.epollRemove(epoll, fd);
            watch.close();
            resolve();
          } else {
            realSys.read(fd, new Uint8Array(16));
            child.stdin.end();
          }
        }
      });
    });
    assert.deepEqual(seen, [false, true]);
    epoll.close();
    fd.close();
    child.stdout.destroy();
  });

  test('a real ring: samples arrive without a copy, and a stale view reads zeros', { skip }, () => {
    const page = realSys.pageSizeBytes();
    using fd = realSys.perfEventOpen(encodeAttrShortest(ownClock), 0, -1, null);
    assert.ok(realSys.eventId(fd) > 0n);
    using mapping = realSys.mmap(fd, page * 17);
    const ring = new ForwardRing(mappedRing(mapping.buffer, page));
    realSys.enable(fd);
    // A sample every 0.2 ms; where the host of this machine is busy, its timer misses most of them.
    const before = process.cpuUsage();
    let samples = 0;
    while (samples < 10 && process.cpuUsage(before).user < 10_000_000) {
      const begin = process.cpuUsage(before).user;
      while (process.cpuUsage(before).user < begin + 10_000) Math.hypot(begin);
      ring.take();
      const scan = new RecordScan([], () => {});
      scan.scan(ring.memory.data, ring.tail, ring.head);
      assert.equal(scan.damagedBytes, 0);
      samples = scan.samples;
    }
    realSys.disable(fd);
    assert.ok(samples >= 10, `${samples} samples in ten seconds`);
    const stale = ring.first;
    assert.ok(stale.some((byte) => byte !== 0));
    ring.commit();
    mapping.close();
    mapping.close();
    assert.ok(stale.every((byte) => byte === 0));
  });
});

describe('machine code', () => {
  /** Gives 42: `mov eax, 42; ret`, `mov w0, #42; ret`. */
  const CODE: Record<string, Uint8Array> = {
    x64: Uint8Array.of(0xb8, 42, 0, 0, 0, 0xc3),
    arm64: Uint8Array.of(0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6),
  };
  const skipCode = CODE[process.arch] === undefined ? `no code for ${process.arch} in this test` : false;

  test('runs, is never writable and executable at once, and is gone when closed', { skip: skipCode }, () => {
    const code = realSys.loadCode(CODE[process.arch]!);
    assert.equal(code.call(), 42);
    const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
    const own = maps.find((line) => line.startsWith(`${code.address.toString(16)}-`));
    assert.match(own ?? '', / r-xp /);
    code.close();
    code.close();
    assert.throws(() => code.call(), /closed/);
  });

  test('memory of our own has an address that the C library can use; a stale view reads zeros', () => {
    const memory = realSys.mapAnonymous(4096);
    const words = new Float64Array(memory.buffer);
    words[5] = 7;
    assert.ok(memory.address! > 0n);
    assert.notEqual(realSys.symbolAddress('clock_gettime'), 0n);
    memory.close();
    assert.equal(words[5], 0);
  });

  test('where new code is forbidden the call says so', () => {
    assert.throws(() => new FakeSys().loadCode(Uint8Array.of(0)), { code: 'EACCES', call: 'mprotect' });
  });
});

test('FakeSys refuses by script, keeps what it was asked, and has rings to write into', () => {
  const fake = new FakeSys();
  fake.refuseOpen = (event) => (event.cpu === 1 ? 'EINVAL' : null);
  const fd = fake.perfEventOpen(encodeAttr(ownClock), 5, 0, null);
  assert.throws(() => fake.perfEventOpen(encodeAttr(ownClock), 5, 1, null), { code: 'EINVAL' });
  assert.equal(fake.events[0]!.attr.samplePeriodOrFreq, 200_000n);
  const mapping = fake.mmap(fd, 4096 * 2);
  const record = Uint8Array.of(9, 0, 0, 0, 0, 0, 8, 0);
  const kernel = fake.rings.get(fd.number)!;
  for (let i = 0; i < 600; i++) kernel.write(record);
  assert.equal(kernel.dropped, 600 - 512);
  const ring = new ForwardRing(mappedRing(mapping.buffer, 4096));
  assert.equal(ring.take(), 4096);
  ring.commit();
  assert.equal(kernel.unreadBytes, 0);
  mapping.close();
  fd.close();
  assert.deepEqual(fake.closed, [fd.number]);
});
