import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '../../base/index.ts';
import { recordTypeName } from '../../format/abi/index.ts';
import { BodyWriter, decodeRecord, encodeRecord } from '../../format/records/index.ts';
import { corpusFiles, hasSharedCorpus } from '../../test/corpus.ts';
import { openPerfData } from './index.ts';

/** Enough of each file to meet its kinds of records; the longest has 48,000. */
const RECORDS_PER_FILE = 4000;

const files = corpusFiles('perfdata');

test('records of real recordings come back byte for byte', async () => {
  const types = new Set<number>();
  for (const { name, bytes } of files) {
    const reader = await openPerfData(memorySource(bytes));
    const le = reader.littleEndian;
    const writer = new BodyWriter(le);
    let left = RECORDS_PER_FILE;
    const record = (view: DataView, start: number, end: number, type: number, fileOffset: number) => {
      if (--left < 0) return;
      types.add(type);
      const layout = reader.events.eventOf(view, start, end, type, le)?.layout ?? null;
      writer.length = 0;
      encodeRecord(writer, decodeRecord(view, start, end - start, layout, le), layout);
      const original = new Uint8Array(view.buffer, view.byteOffset + start, end - start);
      if (Buffer.compare(writer.view8(), original) !== 0)
        assert.fail(`${recordTypeName(type)} at ${fileOffset} of ${name} differs`);
    };
    await reader.scan({ record }, { unordered: true });
  }
  assert.ok(types.size > (hasSharedCorpus ? 20 : 5), `only ${types.size} types of records`);
});
