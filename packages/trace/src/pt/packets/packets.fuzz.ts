/** Random and damaged bytes: every step moves on by at least a byte, stays inside, and ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { encodePacket } from './encode-packet.ts';
import { errataOf } from './errata.ts';
import { PT_MAX_PACKET_BYTES } from './opcodes.ts';
import { Packet } from './packet.ts';
import { PacketCursor } from './packet-cursor.ts';
import { PACKET_INVALID } from './packet-kinds.ts';

const seconds = Number(process.env.FUZZ_SECONDS ?? 1);
const PIECES = [
  [0x02],
  [0x82],
  [0x02, 0xa3],
  [0x02, 0x63, 0x81],
  [0x02, 0x33],
  [0x02, 0xc3, 0x88],
  [0xff, 0xff],
  [0xd9],
];

test(`random bytes as packets for ${seconds} s`, () => {
  const seed = Date.now() & 0xffff;
  const random = new Random(seed);
  const until = performance.now() + seconds * 1000;
  const again = new Uint8Array(64);
  const read = new Packet();
  let packets = 0;
  // Wall time: a fuzzer runs for so long.
  while (performance.now() < until) {
    const bytes = new Uint8Array(random.below(300));
    for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
    for (let count = random.below(30); count > 0 && bytes.length > 3; count--)
      bytes.set(random.pick(PIECES), random.below(bytes.length - 3));
    for (let count = random.below(3); count > 0 && bytes.length > 16; count--)
      bytes.set(Array(8).fill([2, 0x82]).flat(), random.below(bytes.length - 16));
    const errata = errataOf({ family: 6, model: random.pick([0x4e, 0x55, 0x3d]), stepping: 0 })!;
    const cursor = new PacketCursor(bytes, { errata });
    let before = -1;
    let beforeSync = -1;
    for (const packet of cursor.packets()) {
      packets++;
      assert.ok(cursor.position > cursor.offset && cursor.position <= bytes.length, `seed ${seed}`);
      assert.ok(packet.size <= PT_MAX_PACKET_BYTES, `seed ${seed}`);
      // Only a resynchronization may step back, and never to where it was before.
      if (cursor.resynchronizations === beforeSync) assert.ok(cursor.offset >= before, `seed ${seed}`);
      before = cursor.position;
      beforeSync = cursor.resynchronizations;
      if (packet.kind === PACKET_INVALID || packet.size === 3) continue;
      Object.assign(read, packet);
      const size = encodePacket(packet, again, 0);
      assert.ok(size <= PT_MAX_PACKET_BYTES, `seed ${seed}`);
    }
    assert.ok(cursor.resynchronizations <= bytes.length / 16 + 1, `seed ${seed}`);
  }
  assert.ok(packets > 0);
});
