import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { FormatError } from '../../base/index.ts';
import {
  decodeRecordedFiles,
  encodeRecordedFiles,
  processStarts,
  RECORDED_PERF_MAP,
  type RecordedFile,
} from './index.ts';

function fileOf(pid: number, text: string): RecordedFile {
  const bytes = new TextEncoder().encode(text);
  return {
    kind: RECORDED_PERF_MAP,
    pid,
    sizeBytes: bytes.length,
    packed: new Uint8Array(deflateSync(bytes)),
  };
}

const FILES = [fileOf(7, '10 20 first\n'), fileOf(8, '30 40 second\n'.repeat(1000))];

for (const littleEndian of [true, false])
  test(`files come back as they were, littleEndian ${littleEndian}`, () => {
    const section = encodeRecordedFiles(FILES, littleEndian);
    assert.equal(section.length % 8, 0);
    assert.deepEqual(decodeRecordedFiles(section, littleEndian), FILES);
  });

test('a section that is cut, of another version or with sizes that cannot be, is refused', () => {
  const section = encodeRecordedFiles(FILES);
  for (let length = 0; length < 8 + 24 + FILES[0]!.packed.length + 1; length++)
    assert.throws(() => decodeRecordedFiles(section.slice(0, length)), FormatError, `${length}`);
  const [other, large] = [section.slice(), section.slice()];
  new DataView(other.buffer).setUint32(0, 2, true);
  new DataView(large.buffer).setBigUint64(16, 1n << 27n, true);
  assert.throws(() => decodeRecordedFiles(other), FormatError);
  assert.throws(() => decodeRecordedFiles(large), FormatError);
});

for (const littleEndian of [true, false])
  test(`starts of processes are beside the files, in whole milliseconds, littleEndian ${littleEndian}`, () => {
    // A clock may have been set to a time before 1970.
    const starts = new Map([
      [7, 1_764_170_000_000.75],
      [9, -5],
    ]);
    const files = decodeRecordedFiles(encodeRecordedFiles(FILES, littleEndian, starts), littleEndian);
    assert.deepEqual(files.slice(0, FILES.length), FILES);
    assert.deepEqual(
      [...processStarts(files, littleEndian)],
      [
        [7, 1_764_170_000_000],
        [9, 0],
      ],
    );
    // Of another size it is none of ours.
    assert.equal(processStarts([{ ...files.at(-1)!, packed: new Uint8Array(4) }]).size, 0);
  });
