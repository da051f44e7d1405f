import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MMAP,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import { Random } from '../../../../core/src/test/random.ts';
import type { CodeImage } from '../../code/image/index.ts';
import { EVENT_ASYNC_BRANCH, EVENT_ENABLED, FlowEvent } from './event.ts';
import { Sideband, type SidebandChannel } from './sideband.ts';

const SAMPLE = BigInt(PERF_SAMPLE_TID) | BigInt(PERF_SAMPLE_TIME);

/** Kernel records by hand: a body, then the trailer with pid, tid and time. */
class Records {
  readonly #parts: number[] = [];

  add(
    type: number,
    misc: number,
    body: readonly (number | bigint | string)[],
    pid: number,
    time: bigint,
  ): void {
    const bytes: number[] = [];
    const little = (value: bigint, size: number) => {
      for (let at = 0; at < size; at++) bytes.push(Number((value >> BigInt(8 * at)) & 0xffn));
    };
    for (const field of body) {
      if (typeof field === 'number') little(BigInt(field), 4);
      else if (typeof field === 'bigint') little(field, 8);
      else {
        for (const char of field) bytes.push(char.charCodeAt(0));
        do bytes.push(0);
        while (bytes.length % 8 !== 0);
      }
    }
    little(BigInt(pid), 4);
    little(BigInt(pid), 4);
    little(time, 8);
    const header: number[] = [
      type,
      0,
      0,
      0,
      misc & 255,
      misc >> 8,
      (bytes.length + 8) & 255,
      (bytes.length + 8) >> 8,
    ];
    this.#parts.push(...header, ...bytes);
  }

  channel(primary: boolean): SidebandChannel {
    return {
      name: primary ? 'primary' : 'secondary',
      bytes: Uint8Array.from(this.#parts),
      sampleType: SAMPLE,
      clock: { timeZero: 0n, timeShift: 0, timeMult: 1 },
      tscOffset: 0n,
      primary,
      kernelStart: 1n << 63n,
    };
  }
}

function eventAt(kind: number, tsc: number, to: bigint): FlowEvent {
  const event = new FlowEvent().clear(kind);
  event.timeLo = tsc;
  event.ipLo = event.toLo = Number(BigInt.asIntN(32, to));
  event.ipHi = event.toHi = Number(BigInt.asIntN(32, to >> 32n));
  return event;
}

function firstByte(image: CodeImage | null, address: number): number | null {
  const section = image?.find(address, 0) ?? null;
  return section === null ? null : section.bytes[address - section.baseLo]!;
}

test('processes are switched in the kernel; forks copy, exec replaces', () => {
  const primary = new Records();
  primary.add(PERF_RECORD_MMAP, 2, [1, 1, 0x1000n, 16n, 0n, 'one'], 1, 1n);
  primary.add(PERF_RECORD_ITRACE_START, 0, [1, 1], 1, 2n);
  primary.add(PERF_RECORD_SWITCH_CPU_WIDE, 0, [1, 1], 2, 20n);
  primary.add(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, [2, 2, 'new'], 2, 40n);
  const secondary = new Records();
  secondary.add(PERF_RECORD_FORK, 0, [2, 1, 2, 1, 10n], 1, 10n);
  secondary.add(PERF_RECORD_MMAP, 2, [2, 2, 0x2000n, 16n, 0n, 'two'], 2, 11n);
  const lines: string[] = [];
  const sideband = new Sideband(
    [primary.channel(true), secondary.channel(false)],
    {
      showSwitches: true,
      addCommonCode: (image) => image.addSection({ name: 'k', address: 0x9000n, bytes: Uint8Array.of(9) }),
      openCode: (path) => new Uint8Array(32).fill(path === 'one' ? 1 : 2),
    },
    (line) => lines.push(line),
  );
  const user = 0x1000n;
  const kernel = 0xffff_8000_0000_0000n;
  const first = sideband.apply(eventAt(EVENT_ENABLED, 5, user));
  assert.deepEqual(
    [firstByte(first, 0x1000), firstByte(first, 0x2000), firstByte(first, 0x9000)],
    [1, null, 9],
  );
  assert.equal(sideband.apply(eventAt(EVENT_ASYNC_BRANCH, 15, user)), null);
  // The switch is known, but the trace is in user mode, and was.
  assert.equal(sideband.apply(eventAt(EVENT_ASYNC_BRANCH, 25, user)), null);
  const second = sideband.apply(eventAt(EVENT_ASYNC_BRANCH, 26, kernel));
  assert.deepEqual([firstByte(second, 0x1000), firstByte(second, 0x2000)], [1, 2]);
  const third = sideband.apply(eventAt(EVENT_ASYNC_BRANCH, 45, kernel));
  assert.deepEqual([firstByte(third, 0x1000), firstByte(third, 0x9000)], [null, 9]);
  assert.deepEqual(lines, ['[context: pid-1]', '[context: pid-2]', '[context: pid-2]']);
});

test('damaged records end a file, and are never more than a line', () => {
  const records = new Records();
  for (let at = 0; at < 6; at++) {
    records.add(PERF_RECORD_MMAP, 2, [1, 1, 0x1000n, 16n, 0n, 'one'], 1, BigInt(at));
    records.add(PERF_RECORD_ITRACE_START, 0, [1, 1], 1, BigInt(at));
    records.add(PERF_RECORD_FORK, 0, [2, 1, 2, 1, 10n], 1, BigInt(at));
  }
  const channel = records.channel(true);
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const bytes = channel.bytes.slice(0, random.below(channel.bytes.length + 1));
    for (let count = random.below(8); count > 0 && bytes.length > 0; count--)
      bytes[random.below(bytes.length)] = random.below(256);
    let lines = 0;
    const sideband = new Sideband(
      [{ ...channel, bytes }],
      {
        show: true,
        warn: true,
        showSwitches: true,
        openCode: () => (random.oneIn(2) ? null : random.bytes(8)),
      },
      () => lines++,
    );
    for (let tsc = 0; tsc < 8; tsc++) sideband.apply(eventAt(EVENT_ENABLED, tsc, 0x1000n));
    sideband.apply(eventAt(EVENT_ENABLED, -1, 0x1000n));
    assert.ok(lines < bytes.length);
  }
});
