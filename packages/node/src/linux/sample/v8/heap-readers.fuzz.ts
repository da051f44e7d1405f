import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { decodeInlinedCode, InlinedCodeWriter } from '@counterpoint/core/jit';
import { fuzz } from '../../../../../core/src/test/fuzz.ts';
import type { Random } from '../../../../../core/src/test/random.ts';
import { HostileHeap, IMAGE_BYTES, IMAGE_START } from '../../../test/hostile-heap.ts';
import { readBaselineCode } from './bytecode-lines.ts';
import { CodeSpace } from './code-space.ts';
import { expressionNames, leadsTo } from './expression-names.ts';
import { FunctionIndex } from './function-index.ts';
import { FunctionPlaces } from './function-places.ts';
import { HeapMismatch, HeapReader } from './heap-reader.ts';
import { InterpretedNames } from './interpreted-names.ts';
import { MemoryMaps } from './memory-maps.ts';
import { compiledFunction, readOptimisedCode } from './optimised-code.ts';
import { ScriptLists } from './script-lists.ts';
import { type V8Layout, v8LayoutOf } from './v8-layout.ts';

// Memory of a process that lies: nothing is thrown but HeapMismatch, nothing hangs, and what is made of it
// can be read again.

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-heap-fuzz-'));
after(() => rmSync(folder, { recursive: true }));
/** In all bytes of the memory there are no more. */
const MOST_FOUND = IMAGE_BYTES / 32;

function attempt<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof HeapMismatch) return null;
    throw error;
  }
}

/** Fields where the layout of another, or a malicious program says they are. */
function anywhere(random: Random, layout: V8Layout): V8Layout {
  const moved = structuredClone(layout);
  if (random.oneIn(2)) moved.expressionData = null;
  for (const part of [moved.code, moved.deoptimization, moved.sharedFunction, moved.script])
    for (const key of Object.keys(part))
      if (random.oneIn(8)) Object.assign(part, { [key]: random.pick([-8, 0, 8, 24, 120, 1 << 20, 2 ** 31]) });
  return moved;
}

function readAll(heap: HeapReader, layout: V8Layout, objects: readonly bigint[]): void {
  const space = layout.codeSpace!;
  const scripts = new ScriptLists(heap, layout, space);
  const functions = new FunctionIndex(heap, layout, space, scripts);
  const places = new FunctionPlaces(heap, layout);
  const range = { start: IMAGE_START, end: IMAGE_START + IMAGE_BYTES };
  const code = new CodeSpace(() => [range], heap, layout, space);
  const pieces = new InlinedCodeWriter();
  const { found } = code.look();
  assert.ok(found.length <= MOST_FOUND, `${found.length} pieces of code`);
  assert.deepEqual(code.look(), { found: [], gone: [], isThere: true }, 'what is known is not found again');
  for (const piece of found) assert.notEqual(code.again(piece), null, 'what did not change is still there');
  for (const { start, map } of found) scripts.add(start - layout.streamHeaderBytes, map);
  const names: number[] = [];
  const interpreted = new InterpretedNames(
    heap,
    layout,
    space,
    scripts,
    functions,
    places,
    (start, _size, _place, positions) => {
      names.push(start);
      pieces.add({ recordedName: '', start, size: 16, calls: [], positions });
    },
    () => 0,
  );
  const sourceMaps = new MemoryMaps(heap, layout, space, scripts, '/nonexistent');
  sourceMaps.look(Number.POSITIVE_INFINITY, true);
  sourceMaps.bytes();
  functions.refresh();
  expressionNames(heap, layout, [range], new Set(objects), Number.POSITIVE_INFINITY);
  for (const object of objects) {
    attempt(() => heap.text(object));
    leadsTo(heap, layout, object);
    attempt(() => heap.source(object));
    attempt(() => places.of(object).name());
    attempt(() => functions.bytecodeIn(object));
    attempt(() => functions.of(object));
    attempt(() => compiledFunction(heap, layout, object));
    const line = {
      start: Number(object) - 1 + layout.streamHeaderBytes,
      size: 1 << 16,
      // The end of each name of a script without a name is this.
      recordedName: attempt(() => places.of(object))?.script.name ?? ':1:1',
    };
    const piece = attempt(() => readOptimisedCode(heap, layout, places, line, (place) => place.name()));
    if (piece !== null) pieces.add(piece);
    const place = attempt(() => places.of(object));
    for (const bytecode of place === null ? [] : objects) {
      const baseline = attempt(() =>
        readBaselineCode(heap, layout, line, () => ({ bytecode, place: place! })),
      );
      if (baseline !== null) pieces.add(baseline);
    }
    interpreted.addressOf(Number(object), Number(objects[0]), 53, 60, { timeUs: 0, tid: 1 });
  }
  assert.equal(decodeInlinedCode(pieces.bytes()).length, pieces.count);
  assert.equal(new Set(names).size, names.length, 'a function has one address');
}

test('readers of a heap that lies', async () => {
  const layout = await v8LayoutOf(process.execPath);
  assert.ok(typeof layout !== 'string' && layout.codeSpace !== null);
  using memory = new HostileHeap(folder);
  await fuzz(
    'heap-readers',
    (random) => {
      memory.fill(random, layout);
      using heap = new HeapReader(memory.path);
      readAll(heap, random.oneIn(3) ? anywhere(random, layout) : layout, memory.objects);
    },
    () => memory.bytes,
  );
});

test('pointers that lead in a circle come to an end', async () => {
  const layout = await v8LayoutOf(process.execPath);
  assert.ok(typeof layout !== 'string' && layout.codeSpace !== null);
  using memory = new HostileHeap(folder);
  const { view } = memory;
  const THIN = 13;
  const CONS = 9;
  const [thin, code, cons] = [256, 512, 768].map((offset) => BigInt(IMAGE_START + offset + 1));
  for (const [offset, type] of [
    [256, THIN],
    [512, layout.types.code],
    [768, CONS],
  ] as const) {
    view.setUint16(offset + 128 + 12, type, true);
    for (let word = 8; word < 64; word += 8)
      view.setBigUint64(offset + word, BigInt(IMAGE_START + offset + 1), true);
    view.setBigUint64(offset, BigInt(IMAGE_START + offset + 128 + 1), true);
  }
  memory.write();
  using heap = new HeapReader(memory.path);
  assert.equal(heap.text(thin!), null);
  assert.equal(heap.source(thin!), null);
  assert.equal(heap.text(cons!), null);
  assert.equal(heap.source(cons!), null);
  assert.equal(heap.wholeSource(cons!), '');
  const scripts = new ScriptLists(heap, layout, layout.codeSpace);
  assert.equal(new FunctionIndex(heap, layout, layout.codeSpace, scripts).bytecodeIn(code!), null);
});
