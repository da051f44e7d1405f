import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { openPerfData } from '../../perfdata/index.ts';
import type { PerfRecord } from '../../records/index.ts';
import type { SymbolDriver } from '../../symbols/index.ts';
import { comm, mmap2, recording, sample } from '../../test/recordings.ts';
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
): Promise<ScriptResult & { text: string }> {
  const decoder = new TextDecoder();
  let text = '';
  const reader = await openPerfData(memorySource(recording(records)));
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
      { address: '0x7f0000001010', symbol: 'JS:*fib /app.js:1:2', offset: 16, dso: '/tmp/perf-10.map' },
    ],
  });
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
