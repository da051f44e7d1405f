import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSource } from '@counterpoint/core/base';
import { PT_IP_SEXT_48, PT_MODE_EXEC_CS_L } from '../packets/opcodes.ts';
import {
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TNT8,
} from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import { PartPlanner } from './part-planner.ts';
import { partSizes } from './profile-in-parts.ts';

const CUT_EVERY_BYTES = 1 << 16;
const MIB = 1 << 20;

/** Bytes that can be cut every 64 KiB, made where they are read. */
function longTrace(size: number): ByteSource {
  const writer = new PacketWriter();
  writer.put(PACKET_PSB);
  writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
  writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x401000 });
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 1 });
  const period = new Uint8Array(CUT_EVERY_BYTES);
  period.set(writer.bytes());
  return {
    size,
    read: async (offset, length) => {
      const bytes = new Uint8Array(Math.min(length, size - offset));
      for (let at = -(offset % CUT_EVERY_BYTES); at < bytes.length; at += CUT_EVERY_BYTES)
        bytes.set(period.subarray(Math.max(0, -at), bytes.length - at), Math.max(0, at));
      return bytes;
    },
  };
}

async function partsOf(size: number, workers: number): Promise<number[]> {
  const planner = new PartPlanner(longTrace(size), partSizes(workers));
  const parts: number[] = [];
  for (let part = await planner.next(); part !== null; part = await planner.next())
    parts.push((part.stopAt < 0 ? part.bytes.length : part.stopAt) - part.from);
  return parts;
}

test('parts are large at first and small at the end, and all of the trace', async () => {
  const size = 300 * MIB + 12_345;
  const parts = await partsOf(size, 2);
  assert.equal(
    parts.reduce((sum, bytes) => sum + bytes, 0),
    size,
  );
  assert.equal(parts[0], 16 * MIB);
  assert.ok(parts.slice(-3).every((bytes) => bytes < 1.5 * MIB));
  for (const [index, bytes] of parts.slice(1).entries())
    assert.ok(bytes <= parts[index]! + CUT_EVERY_BYTES, `part ${index + 1} is larger than the one before`);
  // Each costs something at its end.
  assert.ok(parts.length < 45, `${parts.length} parts`);
});

test('a short trace has parts for all workers, and many workers have no more waiting than a few', async () => {
  assert.ok((await partsOf(9 * MIB, 4)).length >= 8);
  const most = Math.max(...(await partsOf(600 * MIB, 16)));
  assert.ok(16 * 3 * most <= 97 * MIB, `${most} bytes`);
});

test('one worker waits for nobody: all of its parts are large', async () => {
  assert.deepEqual(await partsOf(10 * MIB, 1), [10 * MIB]);
});

test('gigabytes without a place to cut are refused, with what to do', async () => {
  const nothing: ByteSource = {
    size: 5 * 2 ** 30,
    read: async () => new Uint8Array(0),
  };
  const planner = new PartPlanner(nothing, partSizes(1));
  await assert.rejects(planner.next(), {
    code: 'ERR_PT_PART',
    message: /more than 2147483648 bytes have no/,
  });
});
