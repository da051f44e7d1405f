import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import {
  BRANCH_NEW_TYPE_NAMES,
  BRANCH_TYPE_NAMES,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '../abi/index.ts';
import {
  BodyWriter,
  branchFlagsFrom,
  branchFlagsTo,
  decodeSampleInto,
  encodeSample,
  makeAttr,
  type Sample,
  SampleFields,
  SampleLayout,
} from '../records/index.ts';
import {
  type BranchFlags,
  type BranchRecord,
  BranchTable,
  branchFlagsOf,
  branchFlagsWord,
  branchStackInto,
  branchTypeName,
} from './index.ts';

/** Each field of the kernel's struct set alone to all ones, and the word that the compiler makes of it. */
const PRINT_FIELDS = `
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#define FIELD(name) { struct perf_branch_entry e; memset(&e, 0, sizeof e); e.name = ~0; \\
  __u64 word; memcpy(&word, (char *)&e + 16, 8); printf("field %s %llu\\n", #name, (unsigned long long)word); }
#define TYPE(name) printf("type %s %d\\n", #name, PERF_BR_##name);
#define NEW(name) printf("new %s %d\\n", #name, PERF_BR_NEW_##name);
int main(void) {
  FIELD(mispred) FIELD(predicted) FIELD(in_tx) FIELD(abort) FIELD(cycles) FIELD(type) FIELD(spec) FIELD(new_type) FIELD(priv)
  TYPE(COND) TYPE(UNCOND) TYPE(IND) TYPE(CALL) TYPE(IND_CALL) TYPE(RET) TYPE(SYSCALL) TYPE(SYSRET) TYPE(COND_CALL)
  TYPE(COND_RET) TYPE(ERET) TYPE(IRQ) TYPE(SERROR) TYPE(NO_TX)
  NEW(FAULT_ALGN) NEW(FAULT_DATA) NEW(FAULT_INST) NEW(ARCH_1) NEW(ARCH_2) NEW(ARCH_3) NEW(ARCH_4) NEW(ARCH_5)
}`;

test('every flag stands where the kernel header has it, and every kind has its name', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'branch-flags-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'fields');
  writeFileSync(`${program}.c`, PRINT_FIELDS);
  try {
    execFileSync('gcc', ['-w', '-o', program, `${program}.c`], { stdio: 'pipe' });
  } catch {
    return t.skip('no gcc, or kernel headers older than 6.1');
  }
  const full: Record<string, [keyof BranchFlags, unknown]> = {
    mispred: ['prediction', 'mispredicted'],
    predicted: ['prediction', 'predicted'],
    in_tx: ['isInTransaction', true],
    abort: ['isAbort', true],
    cycles: ['cycles', 65535],
    type: ['type', 15],
    spec: ['speculation', 3],
    new_type: ['newType', 15],
    priv: ['privilege', 7],
  };
  const nothing = branchFlagsOf(0n);
  let seen = 0;
  for (const line of execFileSync(program, { encoding: 'utf8' }).trim().split('\n')) {
    const [kind, name, value] = line.split(' ') as [string, string, string];
    seen++;
    if (kind === 'type') assert.equal(branchTypeName(Number(value)), name);
    else if (kind === 'new') assert.equal(branchTypeName(15, Number(value)), name);
    else {
      const [field, all] = full[name]!;
      assert.deepEqual(branchFlagsOf(BigInt(value)), { ...nothing, [field]: all }, name);
      assert.equal(branchFlagsWord({ [field]: all }), BigInt(value), name);
    }
  }
  assert.equal(seen, Object.keys(full).length + BRANCH_TYPE_NAMES.length - 1 + BRANCH_NEW_TYPE_NAMES.length);
});

test('flags of either byte order are taken apart alike, and written back', () => {
  const random = new Random(17);
  for (let i = 0; i < 2000; i++) {
    const flags = random.u64();
    assert.equal(branchFlagsFrom(branchFlagsTo(flags, false), false), flags);
    assert.equal(branchFlagsFrom(flags, true), flags);
  }
  // perf's bitfield_swap_branch_flags: the first field in the highest bit.
  assert.equal(branchFlagsTo(1n, false), 1n << 63n);
  assert.equal(branchFlagsTo(branchFlagsWord({ cycles: 5 }), false), 5n << 44n);
});

for (const littleEndian of [true, false]) {
  test(`a stack becomes records, oldest first, ${littleEndian ? 'little' : 'big'}-endian`, () => {
    const random = new Random(4);
    for (let i = 0; i < 200; i++) {
      const attr = makeAttr({
        sampleType: BigInt(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_BRANCH_STACK),
        branchSampleType: BigInt(
          (random.below(2) * PERF_SAMPLE_BRANCH_HW_INDEX) | (random.below(2) * PERF_SAMPLE_BRANCH_COUNTERS),
        ),
      });
      const layout = new SampleLayout(attr);
      const branches = Array.from({ length: random.below(33) }, () => ({
        from: random.u64() | 1n,
        to: random.u64(),
        flags: random.u64(),
        counters: random.u64(),
      }));
      const sample: Sample = {
        pid: 7,
        tid: random.below(1000),
        time: random.u64() | 1n,
        cpu: 3,
        branches,
      };
      const writer = new BodyWriter(littleEndian);
      writer.beginRecord(PERF_RECORD_SAMPLE, 0);
      encodeSample(writer, sample, layout);
      writer.endRecord();
      const bytes = writer.view8();
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const fields = new SampleFields();
      assert.ok(decodeSampleInto(view, 0, bytes.length, layout, littleEndian, fields));
      const table = new BranchTable(1);
      assert.equal(branchStackInto(table, view, fields, littleEndian), branches.length);
      const expected: BranchRecord[] = branches
        .map(({ from, to, flags }) => ({ from, to, flags, timeNs: sample.time!, cpu: 3, tid: sample.tid! }))
        .reverse();
      assert.deepEqual([...table.records()], expected);
      assert.deepEqual([...BranchTable.from(table.bytes().slice()).records()], expected);
    }
  });
}

test('a table keeps what is not known, grows, and is cut at a whole record', () => {
  const table = new BranchTable(1);
  const record: BranchRecord = { from: 1n << 63n, to: 2n, flags: 0n, timeNs: null, cpu: -1, tid: -1 };
  for (let i = 0; i < 5; i++) table.add(record);
  assert.deepEqual(
    [...table.records()],
    Array.from({ length: 5 }, () => record),
  );
  assert.equal(table.timeNs(0), -1);
  assert.equal(BranchTable.from(table.bytes().subarray(0, 99)).length, 2);
  table.clear();
  assert.equal(table.length, 0);
});
