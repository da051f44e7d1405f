import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import type { PerfRecord, SampleId } from '@counterpoint/core/records';
import { BodyWriter, encodeRecord, makeAttr, SampleLayout } from '@counterpoint/core/records';
import { sidebandLines } from './sideband-text.ts';

const BITS = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
const LAYOUT = new SampleLayout(makeAttr({ sampleType: BigInt(BITS), flags: { sampleIdAll: 1 } }));
/** Two ticks a nanosecond, ten nanoseconds late. */
const CLOCK = { timeZero: 10n, timeShift: 1, timeMult: 1 };
const NOTHING = { tail: new Uint8Array() };

function file(name: string, records: PerfRecord[]) {
  const writer = new BodyWriter();
  for (const record of records) encodeRecord(writer, record, LAYOUT);
  return { name, bytes: writer.take(), sampleType: BigInt(BITS), clock: CLOCK, tscOffset: 0n };
}

const at = (time: bigint): SampleId => ({ pid: 17, tid: 18, time, id: 5n, cpu: 3 });
const comm = (text: string, time: bigint, misc = 0): PerfRecord => ({
  type: PERF_RECORD_COMM,
  misc,
  pid: 17,
  tid: 18,
  comm: text,
  sampleId: at(time),
  ...NOTHING,
});

test('records come by time; at equal times a file goes on', () => {
  const files = [
    file('a', [comm('a1', 11n), comm('a2', 13n), comm('a3', 13n)]),
    file('b', [comm('b1', 11n), comm('b2', 12n), comm('b3', 13n)]),
  ];
  const lines = sidebandLines(files, { filename: true, time: true });
  const names = (list: Iterable<string>) => [...list].map((line) => line.replace(/.*, (\w\d) .*/, '$1'));
  assert.deepEqual(names(lines.linesUpTo(3, 0)), ['a1', 'b1']);
  assert.deepEqual(names(lines.linesUpTo(3, 0)), []);
  assert.deepEqual(names(lines.linesUpTo(5, 0)), ['b2']);
  assert.deepEqual(names(lines.linesUpTo()), ['b3', 'a2', 'a3']);
});

test('a line a record, or a line a field; names cannot harm the terminal', () => {
  const records: PerfRecord[] = [
    comm('evil\x1b[2J', 12n, PERF_RECORD_MISC_COMM_EXEC),
    {
      type: PERF_RECORD_EXIT,
      misc: 0,
      pid: 1,
      ppid: 2,
      tid: 3,
      ptid: 4,
      time: 20n,
      sampleId: at(20n),
      ...NOTHING,
    },
    {
      type: PERF_RECORD_SWITCH_CPU_WIDE,
      misc: PERF_RECORD_MISC_SWITCH_OUT,
      nextOrPreviousPid: -1,
      nextOrPreviousTid: 0,
      sampleId: at(21n),
      ...NOTHING,
    },
    {
      type: PERF_RECORD_MMAP2,
      misc: 0,
      pid: 17,
      tid: 18,
      start: 0x7f0000001000n,
      length: 0x2000n,
      pageOffset: 0n,
      major: 8,
      minor: 1,
      inode: 99n,
      inodeGeneration: 1n,
      protection: 5,
      flags: 2,
      path: '/bin/true',
      sampleId: at(22n),
      ...NOTHING,
    },
  ];
  const compact = [...sidebandLines([file('f', records)], { offset: true }).linesUpTo()];
  assert.match(
    compact[0]!,
    /^0{16} {2}PERF_RECORD_COMM\.EXEC {2}11\/12, evil\\x1b\[2J {2}\{ 11\/12 c 5 cpu-3 5 \}$/,
  );
  assert.match(compact[1]!, /PERF_RECORD_EXIT {2}1\/3, 2\/4, 14 /);
  assert.match(compact[2]!, /PERF_RECORD_SWITCH_CPU_WIDE\.OUT {2}ffffffff\/0 /);
  assert.match(
    compact[3]!,
    /PERF_RECORD_MMAP2 {2}11\/12, 7f0000001000, 2000, 0, 8, 1, 63, 1, 5, 2, \/bin\/true /,
  );
  const [verbose] = [...sidebandLines([file('f', records)], { verbose: true }).linesUpTo()];
  assert.equal(
    verbose,
    'PERF_RECORD_COMM.EXEC\n  pid: 11\n  tid: 12\n  comm: evil\\x1b[2J\n  pid: 11\n  tid: 12\n  time: c\n  id: 5\n  cpu: 3\n  identifier: 5',
  );
});

test('a file that ends inside of a record is read as far as it goes, and said', () => {
  const whole = file('cut', [comm('one', 11n), comm('two', 12n)]);
  const cut = { ...whole, bytes: whole.bytes.subarray(0, whole.bytes.length - 3) };
  const lines = [...sidebandLines([cut], { warn: true }).linesUpTo()];
  assert.equal(lines.length, 2);
  assert.match(lines[1]!, /^\[cut:[0-9a-f]+ sideband error: bad record\]$/);
});
