import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BpfAssembler } from './assembler.ts';
import { AssemblerError } from './assembler-error.ts';
import type { BpfAssemblerOptions } from './context-assembler.ts';
import { memory, r0, r1, r2, r6, r7, r10, u8, u64, w1 } from './operands.ts';
import type { BpfMapDefinition } from './program.ts';
import { bpfStruct } from './struct-layout.ts';

const counts: BpfMapDefinition = {
  name: 'counts',
  type: 'hash',
  keySizeBytes: 8,
  valueSizeBytes: 8,
  maxEntries: 16,
};
const records: BpfMapDefinition = { ...counts, name: 'records', valueSizeBytes: 24 };

/** What is said of a program that cannot be; always with a line of this file. */
function refusal(write: (asm: BpfAssembler) => unknown, options: Partial<BpfAssemblerOptions> = {}): string {
  const asm = new BpfAssembler({ name: 'wrong', type: 'perf-event', architecture: 'x64', ...options });
  try {
    write(asm);
    asm.assemble();
  } catch (error) {
    assert.ok(error instanceof AssemblerError, String(error));
    assert.equal(error.line?.file, fileURLToPath(import.meta.url));
    return `${error.code} ${error.message.slice(error.message.indexOf(': ') + 2)} | ${error.remedy}`;
  }
  return 'nothing';
}

test('labels and flow', () => {
  assert.match(
    refusal((asm) => asm.jump('nowhere')),
    /^ERR_BPF_LABEL the label "nowhere" is not placed \| .*label\('nowhere'\)/,
  );
  assert.match(
    refusal((asm) => {
      asm.label('twice');
      asm.label('twice');
    }),
    /^ERR_BPF_LABEL .*"twice" is placed a second time/,
  );
  assert.match(
    refusal(() => {}),
    /^ERR_BPF_END the program is empty/,
  );
  assert.match(
    refusal((asm) => asm.move(r0, 0)),
    /^ERR_BPF_END the program runs past its end/,
  );
  assert.match(
    refusal((asm) => {
      asm.jumpIf(r1, '==', 0, 'end');
      asm.return(0);
      asm.label('end');
    }),
    /^ERR_BPF_END/,
  );
  assert.match(
    refusal((asm) => {
      asm.return(0);
      asm.move(r0, 1);
      asm.exit();
    }),
    /^ERR_BPF_UNREACHABLE nothing leads here/,
  );
  assert.match(
    refusal((asm) => {
      asm.jumpIf(r1, '==', 0, 'far');
      for (let index = 0; index < 0x8000; index++) asm.move(r0, 0);
      asm.label('far');
      asm.exit();
    }),
    /^ERR_BPF_JUMP_TOO_FAR "far" is 32768 slots away/,
  );
});

test('a program that the kernel would not begin to read: the line is the first beyond its limit', () => {
  const asm = new BpfAssembler({ name: 'endless', type: 'perf-event' });
  // Each is more than twenty.
  for (let index = 0; index < 50_000; index++) asm.log2(r2, r1);
  asm.return(0);
  assert.throws(
    () => asm.assemble(),
    (error: AssemblerError) => {
      assert.equal(error.code, 'ERR_BPF_TOO_LARGE');
      assert.match(
        error.message,
        /program "endless" has 1,\d{3},\d{3} instructions, .* accepts at most 1,000,000/,
      );
      assert.match(error.line?.file ?? '', /assembler-error\.test\.ts$/);
      return true;
    },
  );
});

test('the line is that of the jump, not of the end', () => {
  const asm = new BpfAssembler({ name: 'wrong', type: 'perf-event' });
  asm.jump('nowhere');
  const before = new Error().stack!.split('\n')[1]!;
  assert.throws(
    () => asm.assemble(),
    (error) =>
      error instanceof AssemblerError && error.line!.line === Number(/:(\d+):\d+\)?$/.exec(before)![1]) - 1,
  );
});

test('registers, numbers and memory', () => {
  assert.match(
    refusal((asm) => asm.move(r10, 0)),
    /^ERR_BPF_OPERAND r10 is the frame pointer/,
  );
  assert.match(
    refusal((asm) => asm.load(r10, u64(r1))),
    /^ERR_BPF_OPERAND r10/,
  );
  assert.match(
    refusal((asm) => asm.add(r1, w1)),
    /^ERR_BPF_OPERAND r1 and w1 have different widths/,
  );
  assert.match(
    refusal((asm) => asm.load(w1, u64(r2))),
    /^ERR_BPF_OPERAND w1 is half a register \| Here it must be r1/,
  );
  assert.match(
    refusal((asm) => asm.load(r1, u8(w1))),
    /^ERR_BPF_OPERAND w1 is half/,
  );
  assert.match(
    refusal((asm) => asm.add(r1, 0x80000000)),
    /^ERR_BPF_IMMEDIATE 2147483648 does not fit.* \| .*asm.move/,
  );
  assert.match(
    refusal((asm) => asm.store(u8(r1), 256)),
    /^ERR_BPF_IMMEDIATE 256 does not fit: .* from -128 to 255/,
  );
  assert.match(
    refusal((asm) => asm.add(r1, 1.5)),
    /^ERR_BPF_IMMEDIATE 1.5 is not a whole number/,
  );
  assert.match(
    refusal((asm) => asm.move(r1, 2 ** 60)),
    /^ERR_BPF_IMMEDIATE .* bigint/,
  );
  assert.match(
    refusal((asm) => asm.move(r1, 1n << 64n)),
    /^ERR_BPF_IMMEDIATE .* more than 64 bits/,
  );
  assert.match(
    refusal((asm) => asm.divide(r1, 0)),
    /^ERR_BPF_IMMEDIATE a division by 0/,
  );
  assert.match(
    refusal((asm) => asm.shiftLeft(w1, 32)),
    /^ERR_BPF_IMMEDIATE w1 is shifted by 32 \| Give a shift from 0 to 31/,
  );
  assert.match(
    refusal((asm) => asm.load(r1, u8(r2, 40000))),
    /^ERR_BPF_IMMEDIATE the offset 40000/,
  );
  assert.match(
    refusal((asm) => asm.load(r1, memory(r2, 0, 16))),
    /^ERR_BPF_OPERAND a load or store of 16 bytes/,
  );
  assert.match(
    refusal((asm) => asm.atomicAdd(u8(r2), r1)),
    /^ERR_BPF_OPERAND an atomic operation on 1 bytes/,
  );
  assert.match(
    refusal((asm) => asm.moveSigned(w1, w1, 32)),
    /^ERR_BPF_OPERAND w1 has only 32 bits/,
  );
  assert.match(
    refusal((asm) => asm.log2(r1, r1)),
    /^ERR_BPF_OPERAND the logarithm needs two/,
  );
  assert.match(
    refusal((asm) => asm.if(r1, '=' as '==', 0, () => {})),
    /^ERR_BPF_OPERAND "=" is no comparison/,
  );
});

test('the stack', () => {
  assert.match(
    refusal((asm) => {
      asm.stack('key', 8);
      asm.stack('key', 8);
    }),
    /^ERR_BPF_STACK there is already a stack slot "key"/,
  );
  assert.match(
    refusal((asm) => {
      asm.stack('key', 8);
      asm.stack('record', 505);
    }),
    /^ERR_BPF_STACK the stack slot "record" of 505 bytes does not fit: 8 of 512 bytes are used \(key\)/,
  );
  assert.match(
    refusal((asm) => asm.stack('key', 0)),
    /^ERR_BPF_STACK .* 0 bytes/,
  );
  const asm = new BpfAssembler({ name: 'full', type: 'perf-event' });
  assert.equal(asm.stack('all', 512).offsetBytes, -512);
});

test('helpers', () => {
  assert.match(
    refusal((asm) => asm.call('map_lookup_elm' as 'map_lookup_elem')),
    /^ERR_BPF_HELPER there is no helper "map_lookup_elm"; did you mean map_lookup_elem/,
  );
  assert.match(
    refusal((asm) => asm.call('bpf_ktime_get_ns' as 'ktime_get_ns')),
    /did you mean ktime_get_ns/,
  );
  assert.match(
    refusal((asm) => asm.call('constructor' as 'loop')),
    /^ERR_BPF_HELPER/,
  );
  assert.match(
    refusal((asm) => asm.call('map_lookup_elem', counts)),
    /^ERR_BPF_HELPER map_lookup_elem takes 2 arguments, but got 1/,
  );
});

test('maps', () => {
  assert.match(
    refusal((asm) => asm.mapLookup(counts, asm.stack('key', 4))),
    /^ERR_BPF_MAP the key has 4 bytes, those of counts have 8/,
  );
  assert.match(
    refusal((asm) => asm.mapUpdate(records, r1, r2)),
    /^ERR_BPF_MAP a value of records has 24 bytes \| .*asm.stack\('value', 24\)/,
  );
  assert.match(
    refusal((asm) => asm.countInMap(records, r1)),
    /^ERR_BPF_MAP a value of records has 24 bytes/,
  );
  assert.match(
    refusal((asm) => asm.countInMap(counts, u64(r1))),
    /^ERR_BPF_OPERAND the key lies at r1, which the look-up loses/,
  );
  const Pair = bpfStruct({ a: 'u64', b: 'u64' });
  assert.match(
    refusal((asm) => asm.addToMap(counts, r1, Pair, { a: 1 })),
    /^ERR_BPF_MAP the layout has 16 bytes, a value of counts has 8/,
  );
  const pairs = { ...counts, name: 'pairs', valueSizeBytes: 16 };
  assert.match(
    refusal((asm) => asm.addToMap(pairs, r1, Pair, { a: 1, ...{ c: 1 } })),
    /^ERR_BPF_MAP the layout has no field "c"/,
  );
  assert.match(
    refusal((asm) => asm.countInMap(counts, r1, r2)),
    /^ERR_BPF_OPERAND the amount is in r2, which the look-up loses/,
  );
  assert.match(
    refusal((asm) => {
      asm.mapLookup(counts, r1);
      asm.mapLookup({ ...counts, maxEntries: 17 }, r1);
    }),
    /^ERR_BPF_MAP two different maps are called counts/,
  );
  assert.match(
    refusal((asm) => asm.mapLookup({ ...counts, name: 'my counts' }, r1)),
    /^ERR_BPF_MAP "my counts" is not a name/,
  );
  assert.match(
    refusal((asm) => asm.loadMapValue(r1, counts)),
    /^ERR_BPF_MAP counts is a map of type hash/,
  );
  assert.match(
    refusal((asm) => asm.loadMapValue(r1, { ...counts, type: 'array' }, 8)),
    /^ERR_BPF_MAP offset 8 is not in the first value/,
  );
  assert.match(
    refusal((asm) => asm.record(counts, bpfStruct({ a: 'u64' }), r7, () => {})),
    /^ERR_BPF_MAP counts is a map of type hash, not a ring buffer/,
  );
  const ring: BpfMapDefinition = { ...counts, name: 'ring', type: 'ring-buffer', maxEntries: 4096 };
  assert.match(
    refusal((asm) => asm.record(ring, bpfStruct({ a: 'u64' }), r7, () => asm.return(0))),
    /^ERR_BPF_RECORD/,
  );
});

test('the context', () => {
  assert.match(
    refusal((asm) => {
      asm.call('ktime_get_ns');
      asm.loadContext(r1, 'ip');
    }),
    /^ERR_BPF_CONTEXT the context was in r1 until .*assembler-error.test.ts:\d+:\d+ \| .*saveContext/,
  );
  assert.match(
    refusal((asm) => {
      asm.loadContext(r1, 'ip');
      asm.loadContext(r2, 'sp');
    }),
    /^ERR_BPF_CONTEXT the context was in r1 until/,
  );
  // A branch that returns takes nothing away.
  assert.equal(
    refusal((asm) => {
      asm.loadContext(r2, 'ip');
      asm.if(r2, '==', 0, () => {
        asm.call('ktime_get_ns');
        asm.dropRecord();
      });
      asm.loadContext(r2, 'sp');
      asm.dropRecord();
    }),
    'nothing',
  );
  assert.match(
    refusal((asm) => asm.loadContext(r2, 'sample_period')),
    /^ERR_BPF_CONTEXT there is no field "sample_period" .*did you mean samplePeriod/,
  );
  const fields = [
    { name: 'common_pid', offset: 4, size: 4, isSigned: true },
    { name: 'comm', offset: 8, size: 16, isSigned: false },
  ];
  const tracepoint = { type: 'tracepoint', fields } as const;
  assert.match(
    refusal((asm) => asm.loadContext(r2, 'common_pid'), tracepoint),
    /^ERR_BPF_CONTEXT the field common_pid is in the first 8 bytes/,
  );
  assert.match(
    refusal((asm) => asm.loadContext(r2, 'comm'), tracepoint),
    /^ERR_BPF_CONTEXT the field comm has 16 bytes \| Copy it/,
  );
  assert.match(
    refusal((asm) => asm.copyContext(asm.stack('c', 17), 'comm', r2), tracepoint),
    /^ERR_BPF_CONTEXT .* 17 are requested/,
  );
  assert.match(
    refusal((asm) => asm.loadContext(r2, 'x'), { type: 'tracepoint' }),
    /The assembler has no fields/,
  );
  assert.match(
    refusal((asm) => asm.loadContext(r2, 'x'), { type: 'socket-filter' }),
    /^ERR_BPF_CONTEXT the context of a program of type socket-filter/,
  );
  assert.match(
    refusal((asm) => asm.keepRecord(), { type: 'raw-tracepoint' }),
    /^ERR_BPF_CONTEXT a program of type raw-tracepoint cannot decide/,
  );
});

test('blocks', () => {
  assert.match(
    refusal((asm) => asm.if(r1, '==', 0, async () => {})),
    /^ERR_BPF_ASYNC_BLOCK/,
  );
  assert.match(
    refusal((asm) => asm.repeat(r6, 0, () => {})),
    /^ERR_BPF_OPERAND a loop of 0 rounds/,
  );
  assert.match(
    refusal((asm) => asm.repeat(r1, 3, () => asm.call('ktime_get_ns'))),
    /^ERR_BPF_OPERAND the loop counts in r1, which the call in the loop loses/,
  );
});

test('structs', () => {
  assert.throws(
    () => bpfStruct({ pid: 'u32', address: 'u64' }),
    /address \(u64\) at offset 4 would leave a hole of 4 bytes/,
  );
  assert.throws(() => bpfStruct({ pid: 'u128' as 'u64' }), /the field pid has the type u128/);
  assert.throws(() => bpfStruct({ pid: 0 }), /the field pid has the type 0/);
  const All = bpfStruct({
    a: 'u64',
    b: 'i64',
    c: 'i32',
    d: 'u32',
    e: 'i16',
    f: 'u16',
    g: 'i8',
    h: 'u8',
    i: 3,
  });
  assert.equal(All.sizeBytes, 33);
  const bytes = new Uint8Array(40).fill(0xff);
  assert.deepEqual(All.read(bytes, 7), {
    a: (1n << 64n) - 1n,
    b: -1n,
    c: -1,
    d: 0xffffffff,
    e: -1,
    f: 0xffff,
    g: -1,
    h: 0xff,
    i: new Uint8Array(3).fill(0xff),
  });
  assert.throws(() => All.read(bytes, 8), RangeError);
  const { c, i } = All.at(r6, 8);
  assert.deepEqual(
    [c.offsetBytes, c.sizeBytes, c.isSigned, i.offsetBytes, i.sizeBytes],
    [24, 4, true, 38, 3],
  );
});
