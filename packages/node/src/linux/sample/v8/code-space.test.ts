/** Code in memory of our own making: what is found, what is gone, and what only looks as if it were there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostileHeap, IMAGE_BYTES, IMAGE_START } from '../../../test/hostile-heap.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { CodeSpace } from './code-space.ts';
import { HeapReader } from './heap-reader.ts';
import { type V8Layout, v8LayoutOf } from './v8-layout.ts';

const STREAM_MAP = 0;
const CODE_MAP = 16;
/** Of the objects `Code`. */
const CODES = 0x100;
const CODE_BYTES = 128;

/** A piece of code whose first instruction is at this offset, a multiple of 32. */
function place(heap: HostileHeap, layout: V8Layout, row: number, start: number, size: number): void {
  const { view } = heap;
  const at = layout.codeSpace!.code;
  const stream = start - layout.streamHeaderBytes;
  const code = CODES + row * CODE_BYTES;
  const tagged = (offset: number) => BigInt(IMAGE_START + offset + 1);
  view.setBigUint64(stream, tagged(STREAM_MAP), true);
  view.setBigUint64(stream + 8, tagged(code), true);
  view.setBigUint64(code, tagged(CODE_MAP), true);
  view.setBigUint64(code + at.instructionStream, tagged(stream), true);
  view.setBigUint64(code + at.instructionStart, BigInt(IMAGE_START + start), true);
  view.setUint32(code + at.instructionSize, size, true);
  heap.bytes.fill(row + 1, start, start + size);
  heap.write();
}

test('code inside of code that was collected takes its place, once', async (t) => {
  const layout = await v8LayoutOf(process.execPath);
  assert.ok(typeof layout !== 'string' && layout.codeSpace !== null);
  using memory = new HostileHeap(temporaryFolder(t));
  memory.view.setUint16(STREAM_MAP + 12, layout.codeSpace.types.instructionStream, true);
  memory.view.setUint16(CODE_MAP + 12, layout.types.code, true);
  place(memory, layout, 0, 0x8000, 0x4000);
  place(memory, layout, 1, 0x10000, 0x400);
  using heap = new HeapReader(memory.path);
  const range = { start: IMAGE_START, end: IMAGE_START + IMAGE_BYTES };
  const space = new CodeSpace(() => [range], heap, layout, layout.codeSpace);
  const look = () => {
    const { found, gone } = space.look();
    const starts = (pieces: typeof found) => pieces.map(({ start }) => start - IMAGE_START);
    return { found: starts(found), gone: starts(gone), pieces: found };
  };
  const first = look();
  assert.deepEqual([first.found, first.gone], [[0x8000, 0x10000], []]);
  const [old, other] = first.pieces;

  // Behind the first 2 KiB, by which a piece is known again.
  place(memory, layout, 2, 0xa000, 0x800);
  const second = look();
  assert.deepEqual([second.found, second.gone], [[0xa000], [0x8000]]);
  assert.equal(space.again(old!), null, 'its name would be that of dead code');
  assert.ok(space.again(other!) !== null);
  for (let row = 0; row < 2; row++) assert.deepEqual(look(), { found: [], gone: [], pieces: [] });

  // The new one dies in its turn, and one comes to the place of the first.
  place(memory, layout, 3, 0xa400, 0x200);
  assert.deepEqual([look().gone, look().gone], [[0xa000], []]);
  place(memory, layout, 4, 0x8000, 0x100);
  const last = look();
  assert.deepEqual([last.found, last.gone], [[0x8000], []]);
});
