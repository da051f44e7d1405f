import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import { openPerfData, type RecordSource } from '../../file-formats/perfdata/index.ts';
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_WEIGHT,
  PERF_TYPE_TRACEPOINT,
} from '../../format/abi/index.ts';
import { makeAttr, type PerfRecord } from '../../format/records/index.ts';
import { ATTR, comm, mmap2, recording, sample } from '../../test/recordings.ts';
import { parseFields, type ScriptOptions, type ScriptResult, writeScript } from './index.ts';

/** Names of JIT code of process 10; nothing else can be opened. */
const driver: SymbolDriver = {
  open: async ({ need }) =>
    need === 'perf-map'
      ? memorySource(new TextEncoder().encode('7f0000001000 100 JS:*fib /app.js:1:2\n'))
      : null,
};

async function script(
  records: PerfRecord[],
  options: Partial<ScriptOptions> = {},
  attr = ATTR,
): Promise<ScriptResult & { text: string }> {
  const decoder = new TextDecoder();
  let text = '';
  const reader = await openPerfData(memorySource(recording(records, {}, attr)));
  const result = await writeScript(reader, { symbols: driver, ...options }, (utf8) => {
    text += decoder.decode(utf8, { stream: true });
  });
  return { ...result, text };
}

const RECORDS = [
  comm(10, 'app', 1n, true),
  mmap2(10, 0x40_0000n, 0x1000n, '/nowhere/app', 2n, 0x1000n),
  mmap2(10, 0x7f00_0000_0000n, 0x10_0000n, '//anon', 3n),
  sample({ time: 1_500_000_123n, cpu: 2, chain: [0x40_0010n, 0x7f00_0000_1010n], period: 250n }),
];

test('a sample with its call chain, as perf prints it', async () => {
  const { text, samples } = await script(RECORDS);
  assert.equal(samples, 1);
  assert.equal(
    text,
    [
      'app    10 [002]     1.500000:        250 cpu-clock: ',
      '\t            1010 [unknown] (/nowhere/app)',
      '\t    7f0000001010 JS:*fib /app.js:1:2+0x10 (/tmp/perf-10.map)',
      '',
      '',
    ].join('\n'),
  );
});

test('without call chains: one line, the address as it was in memory', async () => {
  const { text } = await script(RECORDS, { callChains: false, nanoseconds: true });
  assert.equal(
    text,
    '             app    10 [002]     1.500000123:        250 cpu-clock:            400010 [unknown] (/nowhere/app)\n',
  );
});

test('fields: chosen, added, taken away; what was not recorded is said', async () => {
  const { text } = await script(RECORDS, { fields: parseFields('tid,ip'), callChains: false });
  assert.equal(text, '   10            400010\n');
  const changed = await script(RECORDS, {
    fields: parseFields('-comm,-time,-period,+addr'),
    callChains: false,
  });
  assert.deepEqual(changed.absentFields, ['addr']);
  assert.ok(!changed.text.includes('app  '));
  assert.throws(() => parseFields('comm,tiem'), /unknown field "tiem".*time/);
});

test('with a limit the source is not read on', async () => {
  const open = () => openPerfData(memorySource(recording(RECORDS, {}, ATTR)));
  const reader = await open();
  let rounds = 0;
  const endless: RecordSource = {
    reader,
    async scan(sink, options) {
      for (; rounds < 100; rounds++) await (await open()).scan(sink, options);
      return null;
    },
  };
  const { samples, isLimited } = await writeScript(endless, { symbols: driver, limit: 2 }, () => {});
  assert.deepEqual([samples, isLimited], [2, true]);
  assert.ok(rounds < 5, `${rounds} rounds`);
});

test('NDJSON: one object a line', async () => {
  const { text } = await script(RECORDS, { json: true });
  assert.deepEqual(JSON.parse(text), {
    type: 'sample',
    event: 'cpu-clock',
    comm: 'app',
    pid: 10,
    tid: 10,
    cpu: 2,
    timeNs: '1500000123',
    period: '250',
    ip: '0x400010',
    stack: [
      { address: '0x1010', symbol: null, offset: null, dso: '/nowhere/app' },
      {
        address: '0x7f0000001010',
        symbol: 'JS:fib /app.js:1:2',
        tier: 'TurboFan',
        offset: 16,
        dso: '/tmp/perf-10.map',
      },
    ],
  });
});

/** An attr with more, and a sample of it. */
const DATA_ATTR = makeAttr({
  ...ATTR,
  sampleType:
    ATTR.sampleType |
    BigInt(
      PERF_SAMPLE_ADDR |
        PERF_SAMPLE_WEIGHT |
        PERF_SAMPLE_BRANCH_STACK |
        PERF_SAMPLE_PHYS_ADDR |
        PERF_SAMPLE_CGROUP,
    ),
});
const plain = sample({ time: 1_000_000_000n, chain: [0x40_0010n] });
const DATA_SAMPLE: PerfRecord = {
  ...plain,
  sample: {
    ...plain.sample,
    addr: 0x1234n,
    weight: 7n,
    // Predicted, 9 cycles, a call.
    branches: [{ from: 0x10n, to: 0x20n, flags: 2n | (9n << 4n) | (4n << 20n) }],
    physicalAddr: 0xabcn,
    cgroup: 5n,
  },
};

test('NDJSON holds all that was recorded, or what is chosen', async () => {
  const whole = JSON.parse((await script([DATA_SAMPLE], { json: true }, DATA_ATTR)).text);
  assert.equal(whole.addr, '0x1234');
  assert.equal(whole.weight, '7');
  assert.equal(whole.physicalAddr, '0xabc');
  assert.equal(whole.cgroup, '5');
  assert.deepEqual(whole.branches, [
    {
      from: '0x10',
      to: '0x20',
      mispredicted: false,
      inTransaction: false,
      abort: false,
      cycles: 9,
      type: 'CALL',
      speculation: null,
      privilege: null,
    },
  ]);
  const options = { json: true, fields: parseFields('tid,addr,ip,sym') };
  const { text } = await script([DATA_SAMPLE], options, DATA_ATTR);
  assert.deepEqual(JSON.parse(text), {
    type: 'sample',
    tid: 10,
    ip: '0x400010',
    addr: '0x1234',
    stack: [{ address: '0x400010', symbol: null }],
  });
  const without = JSON.parse((await script(RECORDS, { json: true, fields: parseFields('comm,time') })).text);
  assert.deepEqual(without, { type: 'sample', comm: 'app', timeNs: '1500000123' });
});

test('addresses, weights and branches stand as perf puts them', async () => {
  const options = { callChains: false, fields: parseFields('tid,addr,weight,ip,brstack,phys_addr') };
  const { text } = await script([DATA_SAMPLE], options, DATA_ATTR);
  assert.equal(
    text,
    '   10             1234               7           400010 0x10/0x20/P/-/-/9/CALL              abc\n',
  );
});

test('a tracepoint shows its call chain, but no address without one', async () => {
  const tracepoint = makeAttr({ ...ATTR, type: PERF_TYPE_TRACEPOINT });
  const { text } = await script(RECORDS, {}, tracepoint);
  assert.match(text, /cpu-clock: \n\t +1010 \[unknown\] \(\/nowhere\/app\)\n/);
  const flat = await script(RECORDS, { callChains: false }, tracepoint);
  assert.match(flat.text, /cpu-clock: \n$/);
});

test('long output comes in pieces that follow each other', async () => {
  const records = [...RECORDS.slice(0, 3)];
  for (let i = 0; i < 30_000; i++) {
    records.push(
      sample({
        time: BigInt(i + 10),
        chain: [0x40_0000n + BigInt(i % 512), 0x7f00_0000_1000n + BigInt(i % 200)],
      }),
    );
  }
  const { text, samples } = await script(records);
  assert.equal(samples, 30_000);
  const heads = text.split('\n').filter((line) => line.startsWith('app'));
  assert.equal(heads.length, 30_000);
});
