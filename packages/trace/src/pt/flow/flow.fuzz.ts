/** Random and damaged traces over random code: it ends, in bounds, and never throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { errataOf, NO_ERRATA } from '../packets/errata.ts';
import * as kinds from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import { AddressFilter, FILTER_STOP, FILTER_TRACE } from './address-filter.ts';
import { FlowDecoder } from './flow-decoder.ts';
import { printFlow } from './print-flow.ts';

const seconds = Number(process.env.FUZZ_SECONDS ?? 2);
const CODE_BYTES = 96;
const BASE = 0x1000;
/** Models with different errata: 6/x. */
const MODELS = [0x4e, 0x55, 0x3d, 0x5c, 0x7a, 0x97];

/** Mostly whole instructions that matter to the flow, some of them cut by the next. */
const INSTRUCTIONS = [
  [0x90],
  [0xc3],
  [0x75, 0x02],
  [0xeb, 0xfe],
  [0xeb, 0x04],
  [0xe8, 0x05, 0, 0, 0],
  [0xe8, 0xf0, 0xff, 0xff, 0xff],
  [0xff, 0xe0],
  [0xff, 0xd0],
  [0x0f, 0x05],
  [0x48, 0xcf],
  [0xcd, 0x80],
  [0x0f, 0x22, 0xd8],
  [0xf3, 0x0f, 0xae, 0xe0],
  [0x0f, 0x01, 0xc2],
  [0x06],
];

function randomCode(random: Random): Uint8Array<ArrayBuffer> {
  const code = random.bytes(CODE_BYTES);
  for (let at = 0; at < CODE_BYTES - 8; ) {
    const one = random.pick(INSTRUCTIONS);
    code.set(one, at);
    at += random.oneIn(20) ? 1 : one.length;
  }
  return code;
}

function address(random: Random): { type: number; lo: number; hi: number } {
  if (random.oneIn(8)) return { type: 0, lo: 0, hi: 0 };
  const lo = random.oneIn(20) ? random.u32() : BASE + random.below(CODE_BYTES + 4);
  return random.oneIn(2) ? { type: 3, lo, hi: 0 } : { type: 1, lo: lo & 0xffff, hi: 0 };
}

function putHeader(random: Random, writer: PacketWriter): void {
  writer.put(kinds.PACKET_PSB);
  if (!random.oneIn(4)) writer.put(kinds.PACKET_TSC, { lo: random.below(1 << 20) });
  if (!random.oneIn(8)) writer.put(kinds.PACKET_MODE_EXEC, { flags: random.oneIn(10) ? random.below(8) : 1 });
  if (random.oneIn(6)) writer.put(kinds.PACKET_MODE_TSX, { flags: random.below(3) });
  if (random.oneIn(6)) writer.put(kinds.PACKET_PIP, { lo: random.below(16) << 12 });
  if (!random.oneIn(6)) writer.put(kinds.PACKET_FUP, address(random));
  if (!random.oneIn(20)) writer.put(kinds.PACKET_PSBEND);
}

function putPacket(random: Random, writer: PacketWriter): void {
  const kind = 1 + random.below(kinds.PACKET_EVD);
  switch (kind) {
    case kinds.PACKET_PSB:
      putHeader(random, writer);
      return;
    case kinds.PACKET_TNT8: {
      const type = 1 + random.below(6);
      writer.put(kind, { type, lo: random.below(1 << type) });
      return;
    }
    case kinds.PACKET_TNT64: {
      const type = 1 + random.below(31);
      writer.put(kind, { type, lo: random.u32() & (2 ** type - 1) });
      return;
    }
    case kinds.PACKET_TIP:
    case kinds.PACKET_TIP_PGE:
    case kinds.PACKET_TIP_PGD:
    case kinds.PACKET_FUP:
      writer.put(kind, address(random));
      return;
    case kinds.PACKET_TSC:
      writer.put(kind, { lo: random.below(1 << 20) });
      return;
    case kinds.PACKET_BBP:
    case kinds.PACKET_BIP:
    case kinds.PACKET_PAD:
      return;
    case kinds.PACKET_PTW:
      writer.put(kind, { type: random.below(2), lo: random.u32(), flags: random.below(2) });
      return;
    case kinds.PACKET_CFE:
      writer.put(kind, { type: random.below(16), extra: random.below(256), flags: random.below(2) });
      return;
    case kinds.PACKET_EVD:
      writer.put(kind, { type: random.below(4), lo: random.u32(), hi: 0 });
      return;
    case kinds.PACKET_TRIG: {
      const flags = random.pick([0, 1, 4, 5, 6]);
      writer.put(kind, { type: random.below(256), extra: (flags & 4) !== 0 ? random.below(4) : 0, flags });
      return;
    }
    case kinds.PACKET_MODE_EXEC:
      writer.put(kind, { flags: random.oneIn(6) ? random.below(8) : 1 });
      return;
    case kinds.PACKET_MODE_TSX:
      writer.put(kind, { flags: random.below(3) });
      return;
    case kinds.PACKET_CBR:
    case kinds.PACKET_MTC:
      writer.put(kind, { lo: 1 + random.below(250) });
      return;
    case kinds.PACKET_PIP:
    case kinds.PACKET_VMCS:
      writer.put(kind, { lo: random.below(16) << 12 });
      return;
    case kinds.PACKET_EXSTOP:
      writer.put(kind, { flags: random.below(2) });
      return;
    default:
      writer.put(kind, { lo: random.below(16) });
  }
}

function damage(random: Random, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const damaged = bytes.slice(0, random.oneIn(3) ? random.below(bytes.length + 1) : bytes.length);
  for (let count = random.below(4); count > 0 && damaged.length > 0; count--)
    damaged[random.below(damaged.length)]! ^= 1 << random.below(8);
  return damaged;
}

test(`random traces for ${seconds} s`, () => {
  const seed = Date.now() & 0xffff;
  const random = new Random(seed);
  const until = performance.now() + seconds * 1000;
  const writer = new PacketWriter();
  let instructions = 0;
  let events = 0;
  // Wall time: a fuzzer runs for so long.
  for (let round = 0; performance.now() < until; round++) {
    writer.clear();
    putHeader(random, writer);
    for (let count = random.below(40); count > 0; count--) putPacket(random, writer);
    let bytes: Uint8Array<ArrayBuffer> = writer.bytes().slice();
    if (random.oneIn(3)) bytes = damage(random, bytes);
    if (random.oneIn(10)) bytes = Uint8Array.from([...bytes, ...random.bytes(random.below(100))]);
    const image = new CodeImage();
    if (!random.oneIn(20))
      image.addSection({ name: 'code', address: BigInt(BASE), bytes: randomCode(random) });
    if (random.oneIn(5))
      image.addSection({
        name: 'other',
        address: BigInt(BASE + 40),
        bytes: randomCode(random).subarray(0, 9),
      });
    const errata = random.oneIn(3)
      ? NO_ERRATA
      : errataOf({ family: 6, model: random.pick(MODELS), stepping: 0 })!;
    const filter = new AddressFilter(
      random.oneIn(2)
        ? []
        : [
            {
              use: random.pick([FILTER_TRACE, FILTER_STOP]),
              first: BigInt(BASE),
              last: BigInt(BASE + random.below(CODE_BYTES)),
            },
          ],
    );
    const where = `seed ${seed}, round ${round}`;
    const decoder = new FlowDecoder(bytes, image, {
      errata,
      filter,
      ticks: random.oneIn(2),
      interruptFlags: random.oneIn(2),
      useCr3: random.oneIn(3),
    });
    // Every bit may lead once through all the code, and round a loop until it is seen to be
    // one; every event as well.
    const budget = (bytes.length * 16 + 100) * (CODE_BYTES * 4 + 300);
    let steps = 0;
    let offset = 0;
    const summary = printFlow(
      decoder,
      {
        resume: random.oneIn(2),
        blocks: random.oneIn(4) ? { show: true } : {},
        onInstruction: () => {
          assert.ok(++steps < budget, `${where}: no end`);
          return true;
        },
        onEvent: () => {
          assert.ok(
            decoder.offset >= offset && decoder.offset <= bytes.length,
            `${where}: ${decoder.offset}`,
          );
          offset = decoder.offset;
        },
      },
      () => {},
    );
    for (const { firstOffset, count } of summary.errors.list())
      assert.ok(count > 0 && firstOffset >= 0 && firstOffset <= bytes.length, where);
    assert.ok(summary.errors.total <= bytes.length * 8 + 8, `${where}: ${summary.errors.total} errors`);
    instructions += summary.instructions;
    events += summary.events;
  }
  assert.ok(instructions > 0 && events > 0);
});
