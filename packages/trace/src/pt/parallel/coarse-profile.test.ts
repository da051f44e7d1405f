import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { CodeImage } from '../../code/image/index.ts';
import { joinChunks } from '../../test/real-programs.ts';
import { profileTrace } from '../answers/index.ts';
import { ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import { findPsb } from '../packets/find-psb.ts';
import { coarseProfile } from './index.ts';

/** At 0x1000, a: call b; jne a; ret. b: jne +2; nop; nop; ret. */
const CODE = Uint8Array.of(0xe8, 3, 0, 0, 0, 0x75, 0xf9, 0xc3, 0x75, 2, 0x90, 0x90, 0xc3);

function image(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: CODE });
  return image;
}

function trace(): Uint8Array<ArrayBuffer> {
  const path = new RandomWalk({ seed: 4, entries: Int32Array.of(0x1000, 0, 0x1008, 0), interruptEvery: 50 });
  const encoder = new ExecutionEncoder(image(), path, { hash: false, returnCompression: false });
  return joinChunks(encoder.chunks({ bytes: 300_000 }));
}

test('read whole, every target of a return is counted as often as it was gone to', async () => {
  const bytes = trace();
  const found = await coarseProfile(bytes, { pieces: 1, pieceBytes: bytes.length });
  assert.equal(found.readBytes, bytes.length);
  const { profile } = profileTrace(bytes, image());
  // Behind the call, where b returns to (return at 0x100c).
  const at = found.lo.indexOf(0x1005);
  assert.ok(at >= 0);
  assert.ok(found.count[at]! >= profile.executed.at(profile.rowOf(0x1005, 0)));
  for (let row = 1; row < found.count.length; row++) {
    const order = found.samples[row - 1]! - found.samples[row]! || found.count[row - 1]! - found.count[row]!;
    assert.ok(order >= 0);
  }
});

test('at every PSB but the first execution was somewhere', async () => {
  const bytes = trace();
  const found = await coarseProfile(bytes, { pieces: 1, pieceBytes: bytes.length });
  let psbs = 0;
  for (let at = findPsb(bytes, 0, bytes.length); at >= 0; at = findPsb(bytes, at + 1, bytes.length)) psbs++;
  assert.ok(psbs > 50);
  // The encoder begins while tracing is off.
  assert.equal(
    found.samples.reduce((sum, count) => sum + count, 0),
    psbs - 1,
  );
  const { profile } = profileTrace(bytes, image());
  for (let row = 0; row < found.lo.length; row++)
    if (found.samples[row]! > 0) assert.ok(profile.executed.at(profile.rowOf(found.lo[row]!, 0)) > 0);
});

test('of a large trace only pieces are read, with the same places in front; damage is gone over', async () => {
  const bytes = trace();
  const whole = await coarseProfile(bytes, { pieces: 1, pieceBytes: bytes.length });
  for (let at = 0; at < bytes.length; at += 20_000) bytes[at]! ^= 0xff;
  const found = await coarseProfile(memorySource(bytes), { pieces: 4, pieceBytes: 10_000 });
  assert.equal(found.readBytes, 40_000);
  assert.equal(found.lo[0], whole.lo[0]);
  assert.deepEqual((await coarseProfile(new Uint8Array(0))).count.length, 0);
  const abort = new AbortController();
  abort.abort(new Error('enough'));
  await assert.rejects(coarseProfile(bytes, { signal: abort.signal }), /enough/);
});
