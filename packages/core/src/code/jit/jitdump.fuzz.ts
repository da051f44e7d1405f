import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError, memorySource } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import { jitDumpBytes } from '../../test/jitdump-bytes.ts';
import { type JitDump, type JitRecord, parseJitDump, readJitCode } from './index.ts';

const MOST_CODE_BYTES = 2 ** 28;
let input: Uint8Array<ArrayBuffer> = new Uint8Array(0);

const RECORDS: JitRecord[] = [
  {
    kind: 'debug-info',
    time: 1,
    address: 1n,
    lines: [{ address: 1n, line: 3, discriminator: 0, file: 'a' }],
  },
  {
    kind: 'debug-info',
    time: 1,
    address: 1n,
    // Zeros inside: names that V8 overwrote.
    lines: [
      { address: 2n, line: 3, discriminator: 0, file: '\u0001\0\0b.js' },
      { address: 3n, line: 4, discriminator: 0, file: '\u0002\0' },
    ],
  },
  { kind: 'unwinding', time: 2, headerBytes: 4, mappedBytes: 8, data: Uint8Array.of(1, 2, 3) },
  {
    kind: 'load',
    time: 3,
    pid: 7,
    tid: 8,
    address: 2n,
    codeIndex: 2n,
    name: 'JS:*f /a/b.js:1:1',
    code: Uint8Array.of(0x90, 0xc3),
    sizeBytes: 2,
  },
  { kind: 'move', time: 4, pid: 7, tid: 8, oldAddress: 2n, newAddress: 3n, sizeBytes: 2n, codeIndex: 2n },
  { kind: 'close', time: 5 },
];

/** What is read piece by piece has every load, at its place. */
async function compareWithCode({ records }: JitDump): Promise<void> {
  const { map } = await readJitCode(memorySource(input), { frames: true });
  const found = new Set(Array.from(map.start, (start, line) => `${start} ${map.end[line]!}`));
  for (const record of records) {
    if (record.kind !== 'load' || record.sizeBytes > MOST_CODE_BYTES) continue;
    const start = Number(BigInt.asIntN(64, record.address));
    assert.ok(found.has(`${start} ${start + Math.max(1, record.sizeBytes)}`), record.name);
  }
}

test('damaged jitdumps: nothing thrown but FormatError, no more than the bytes can hold', async () => {
  await fuzz(
    'jitdump',
    async (random) => {
      const records = Array.from({ length: random.below(12) }, () => random.pick(RECORDS));
      const whole = jitDumpBytes(records, random.oneIn(2));
      for (let flips = random.below(6); flips > 0; flips--)
        whole[random.below(whole.length)] = random.pick([0, 1, 0x7f, 0xff, random.below(256)]);
      input = random.oneIn(2) ? whole : whole.slice(0, random.below(whole.length + 1));
      try {
        const dump = parseJitDump(input);
        assert.ok(dump.records.length <= input.length / 16);
        for (const record of dump.records)
          if (record.kind === 'load')
            assert.ok(record.code.length === record.sizeBytes || record.code.length === 0);
        await compareWithCode(dump);
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error));
      }
    },
    () => input,
  );
});
