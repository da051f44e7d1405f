/**
 * The offsets of the registers in a program's context, and the order of those in a sample (`PERF_REGISTERS`),
 * against each other: a program and perf's own sample of the same overflow, every register by name.
 */
import assert from 'node:assert/strict';
import {
  MMAP_PAGE_DATA_HEAD,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_USER,
  PERF_REGISTERS,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_REGS_INTR,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import {
  attachToEvent,
  BpfAssembler,
  type BpfMapDefinition,
  BpfRingBuffer,
  bpfStruct,
  loadPrograms,
  r1,
  r6,
  r7,
} from '../linux/kernel/bpf/index.ts';
import { realSys as sys } from '../linux/kernel/sys/index.ts';
import { spin } from './bpf-programs.ts';

const sampled = PERF_REGISTERS[process.arch === 'x64' ? 'x64' : 'arm64'];
const mask = sampled.reduce((bits, name, index) => (name === null ? bits : bits | (1n << BigInt(index))), 0n);
const registers = sampled.filter((name) => name !== null);

/** Let a program and perf look at the same overflows of this process; the number of them. */
export function compareRegisters(): number {
  const fields = ['ip', 'address', 'samplePeriod', ...registers];
  const Seen = bpfStruct(
    Object.fromEntries(
      [...fields.map((_, index) => `field${index}`), 'isUser'].map((name) => [name, 'u64' as const]),
    ),
  );
  const ringMap: BpfMapDefinition = {
    name: 'ring',
    type: 'ring-buffer',
    keySizeBytes: 0,
    valueSizeBytes: 0,
    maxEntries: 1 << 18,
  };
  const asm = new BpfAssembler({ name: 'registers', type: 'perf-event' });
  asm.saveContext(r6);
  asm.record(ringMap, Seen, r7, (seen) => {
    for (const [index, field] of fields.entries()) {
      asm.loadContext(r1, field);
      asm.store(seen[`field${index}`]!, r1);
    }
    asm.loadIsUserMode(r1);
    asm.store(seen['isUser']!, r1);
  });
  asm.keepRecord();
  using set = loadPrograms(sys, [asm.assemble()]);
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_CPU_CLOCK),
    samplePeriodOrFreq: 200_000n,
    sampleType:
      BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD) | BigInt(PERF_SAMPLE_REGS_INTR),
    sampleRegsIntr: mask,
    flags: { disabled: 1 },
  });
  using event = sys.perfEventOpen(encodeAttr(attr), 0, -1, null);
  using perfRing = sys.mmap(event, sys.pageSizeBytes() * 65);
  using ring = new BpfRingBuffer(sys, set.map('ring'));
  using _ = attachToEvent(sys, set.program('registers'), event);
  sys.enable(event);
  spin(30);
  sys.disable(event);
  // A record: its header, IP, ADDR, PERIOD, the ABI, the registers by number.
  const headBytes = Number(new BigUint64Array(perfRing.buffer, MMAP_PAGE_DATA_HEAD, 1)[0]);
  const words = new BigUint64Array(perfRing.buffer, sys.pageSizeBytes(), headBytes / 8);
  const wordsPerRecord = 5 + registers.length;
  let samples = 0;
  for (; ring.reader.next(); samples++) {
    const seen = Object.values(Seen.read(ring.reader.payload()));
    const [header, ip, address, period, , ...values] = words.subarray(
      samples * wordsPerRecord,
      (samples + 1) * wordsPerRecord,
    );
    assert.deepEqual(
      Object.fromEntries(fields.map((field, index) => [field, seen[index]])),
      Object.fromEntries([
        ['ip', ip],
        ['address', address],
        ['samplePeriod', period],
        ...registers.map((name, index) => [name, values[index]]),
      ]),
    );
    // misc, the third half-word of the header, has the mode in its low bits.
    const isUser =
      ((header! >> 32n) & BigInt(PERF_RECORD_MISC_CPUMODE_MASK)) === BigInt(PERF_RECORD_MISC_USER);
    assert.equal(seen.at(-1), isUser ? 1n : 0n);
  }
  ring.reader.commit();
  assert.equal(samples * wordsPerRecord, words.length);
  return samples;
}
