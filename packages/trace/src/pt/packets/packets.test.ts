import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { CodeImage } from '../../code/image/index.ts';
import { CallTrace, profileTrace, streamInstructions } from '../answers/index.ts';
import { dumpPackets } from '../dump/dump-packets.ts';
import { FlowDecoder } from '../flow/index.ts';
import { encodePacket } from './encode-packet.ts';
import { errataOf, NO_ERRATA, parseCpu } from './errata.ts';
import { findPsb, findPsbBackward } from './find-psb.ts';
import { LastIp } from './last-ip.ts';
import * as opcodes from './opcodes.ts';
import { FLAG_ICNT, Packet } from './packet.ts';
import { PacketCursor } from './packet-cursor.ts';
import * as kinds from './packet-kinds.ts';
import { PacketWriter } from './packet-writer.ts';
import { BAD_OPCODE, BAD_PACKET, NEED_MORE, readPacket, TNT8_COUNT, TNT8_OUTCOMES } from './read-packet.ts';

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const below = (limit: number) => fc.integer({ min: 0, max: limit - 1 });
const none = fc.constant(0);

/** What each kind can hold: every packet that the writer accepts and the reader gives back. */
function fieldsOf(kind: number): fc.Arbitrary<Partial<Packet>> {
  const wide = { lo: int32, hi: int32 };
  switch (kind) {
    case kinds.PACKET_TNT8:
      return below(6).chain((index) =>
        fc.record({ type: fc.constant(index + 1), lo: below(2 << index), hi: none }),
      );
    case kinds.PACKET_TNT64:
      return below(47).chain((index) => {
        const count = index + 1;
        return fc.record({
          type: fc.constant(count),
          lo: count >= 32 ? int32 : below(2 ** count).map((value) => value | 0),
          hi: count > 32 ? below(2 ** (count - 32)) : none,
        });
      });
    case kinds.PACKET_TIP:
    case kinds.PACKET_TIP_PGE:
    case kinds.PACKET_TIP_PGD:
    case kinds.PACKET_FUP:
      return fc.constantFrom(0, 1, 2, 3, 4, 6).chain((type) => {
        const size = opcodes.PT_IP_BYTES[type]!;
        return fc.record({
          type: fc.constant(type),
          lo: size === 0 ? none : size === 2 ? below(2 ** 16) : int32,
          hi: size < 6 ? none : size === 6 ? below(2 ** 16) : int32,
        });
      });
    case kinds.PACKET_CYC:
      return fc.oneof(fc.record({ lo: below(100), hi: none }), fc.record({ lo: int32, hi: below(2 ** 29) }));
    case kinds.PACKET_MTC:
    case kinds.PACKET_CBR:
      return fc.record({ lo: below(256), hi: none });
    case kinds.PACKET_TSC:
      return fc.record({ lo: int32, hi: below(2 ** 24) });
    case kinds.PACKET_MODE_EXEC:
    case kinds.PACKET_MODE_TSX:
      return fc.record({ flags: below(32) });
    case kinds.PACKET_TRIG:
      return below(8).chain((flags) =>
        fc.record({
          flags: fc.constant(flags),
          type: below(256),
          extra: (flags & FLAG_ICNT) !== 0 ? below(2 ** 16) : none,
        }),
      );
    case kinds.PACKET_PIP:
      return fc.record({ lo: int32.map((value) => value & ~0x1f), hi: below(2 ** 20), flags: below(2) });
    case kinds.PACKET_VMCS:
      return fc.record({ lo: int32.map((value) => value & ~0xfff), hi: below(2 ** 20) });
    case kinds.PACKET_TMA:
      return fc.record({ lo: below(2 ** 16), hi: none, extra: below(2 ** 9) });
    case kinds.PACKET_PTW:
      return below(2).chain((type) =>
        fc.record({ type: fc.constant(type), lo: int32, hi: type === 1 ? int32 : none, flags: below(2) }),
      );
    case kinds.PACKET_MNT:
    case kinds.PACKET_MWAIT:
      return fc.record(wide);
    case kinds.PACKET_EXSTOP:
    case kinds.PACKET_BEP:
      return fc.record({ flags: below(2) });
    case kinds.PACKET_PWRE:
      return fc.record({ type: below(16), extra: below(16), flags: below(2) });
    case kinds.PACKET_PWRX:
      return fc.record({ type: below(16), extra: below(16), flags: below(16) });
    case kinds.PACKET_BBP:
      return fc.record({ type: below(32), extra: fc.constantFrom(4, 8) });
    case kinds.PACKET_CFE:
      return fc.record({ type: below(32), extra: below(256), flags: below(2) });
    case kinds.PACKET_EVD:
      return fc.record({ type: below(64), ...wide });
    default:
      return fc.record({});
  }
}

const SKIPPED = [kinds.PACKET_BAD, kinds.PACKET_INVALID, kinds.PACKET_BIP];
const packetArbitrary = fc
  .constantFrom(...kinds.PACKET_NAMES.keys())
  .filter((kind) => !SKIPPED.includes(kind))
  .chain((kind) => fieldsOf(kind).map((fields) => Object.assign(new Packet(), { kind }, fields)));

test('every packet that can be written reads back equal, and nothing is read behind its end', () => {
  fc.assert(
    fc.property(packetArbitrary, (packet) => {
      const bytes = new Uint8Array(32).fill(0xff);
      const size = encodePacket(packet, bytes, 3);
      const read = new Packet();
      assert.equal(readPacket(bytes, 3, 3 + size, read), size);
      for (const [name, value] of Object.entries(packet))
        if (value !== 0 && name !== 'size') assert.equal(read[name as keyof Packet], value, name);
      assert.equal(read.size, size);
      for (let end = 3; end < 3 + size; end++) assert.equal(readPacket(bytes, 3, end, read), NEED_MORE);
    }),
    { numRuns: 3000 },
  );
});

test('packets in a row come out of the cursor as they went in, blocks of PEBS items too', () => {
  const item = fc.record({
    kind: fc.constant(kinds.PACKET_BIP),
    type: below(32),
    lo: int32,
    hi: none,
    extra: fc.constant(4),
  });
  fc.assert(
    fc.property(fc.array(packetArbitrary), fc.array(item), (packets, items) => {
      const writer = new PacketWriter(16);
      const written: Partial<Packet>[] = [
        ...packets.filter((packet) => packet.kind !== kinds.PACKET_BBP),
        { kind: kinds.PACKET_BBP, type: 1, extra: 4 },
        ...items,
        { kind: kinds.PACKET_BEP, flags: 1 },
        { kind: kinds.PACKET_TNT8, type: 1, lo: 0 },
      ];
      for (const packet of written) writer.put(packet.kind!, packet);
      const cursor = new PacketCursor(writer.bytes());
      for (const packet of written) {
        assert.ok(cursor.next() > 0);
        assert.equal(cursor.packet.kind, packet.kind);
        if (packet.kind === kinds.PACKET_BIP) assert.equal(cursor.packet.lo, packet.lo);
      }
      assert.equal(cursor.next(), NEED_MORE);
      assert.equal(cursor.position, writer.length);
    }),
  );
});

test('bytes that decode encode to themselves where no reserved bit is set', () => {
  const bytes = new Uint8Array(32);
  const packet = new Packet();
  for (let first = 0; first < 256; first++)
    for (let second = 0; second < 256; second++) {
      const raw = Uint8Array.from(
        { length: 32 },
        (_, index) => [first, second][index] ?? (index === 2 ? 0x88 : 0),
      );
      const size = readPacket(raw, 0, 32, packet);
      if (size < 0 || packet.kind === kinds.PACKET_CBR) continue;
      if (packet.kind === kinds.PACKET_CYC && size > 1) continue; // a CYC may be longer than it must be
      const masked = [kinds.PACKET_PWRE, kinds.PACKET_PWRX, kinds.PACKET_TRIG].includes(packet.kind);
      if (masked) continue;
      if (packet.kind === kinds.PACKET_CFE || packet.kind === kinds.PACKET_EVD) raw[2] = packet.type | 0x80;
      if (packet.kind === kinds.PACKET_CFE) packet.flags = 1;
      if (packet.kind === kinds.PACKET_EVD) raw[2] = packet.type;
      assert.equal(encodePacket(packet, bytes, 0), size);
      const expected = raw.subarray(0, size);
      assert.deepEqual(bytes.subarray(0, size), expected, `${first.toString(16)} ${second.toString(16)}`);
    }
});

test('the tables say what the rules say', () => {
  for (let byte = 0; byte < 256; byte++) {
    assert.equal(kinds.FIRST_BYTE_KIND[byte], kinds.kindOfFirstByte(byte));
    assert.equal(kinds.SECOND_BYTE_KIND[byte], kinds.kindOfSecondByte(byte));
    if (kinds.FIRST_BYTE_KIND[byte] !== kinds.PACKET_TNT8) continue;
    const text = byte.toString(2).slice(1, -1);
    assert.equal(TNT8_COUNT[byte], text.length);
    assert.equal(TNT8_OUTCOMES[byte], Number.parseInt(text, 2));
  }
  assert.equal(kinds.PACKET_NAMES.length, kinds.PACKET_KINDS);
  assert.equal(new Set(kinds.PACKET_NAMES).size, kinds.PACKET_KINDS);
});

test('headers that are no packet and payloads that break the rules are told apart', () => {
  const cases: [string, number][] = [
    ['39', BAD_OPCODE],
    ['02ff', BAD_OPCODE],
    ['02c389', BAD_OPCODE],
    ['9940', BAD_PACKET],
    ['ad', BAD_PACKET],
    ['0252', BAD_PACKET],
    ['02a3000000000000', BAD_PACKET],
    ['02a3010000000000', BAD_PACKET],
    ['02730101010100', BAD_PACKET],
    ['02730101000102', BAD_PACKET],
    ['02820282028202820282028202820283', BAD_PACKET],
    ['07010101010101010101', BAD_PACKET],
  ];
  for (const [hex, code] of cases) {
    const bytes = Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16));
    assert.equal(readPacket(bytes, 0, bytes.length, new Packet()), code, hex);
  }
});

test('an address that does not fit its field is refused, not cut', () => {
  const writer = new PacketWriter();
  assert.throws(() => writer.put(kinds.PACKET_MTC, { lo: 256 }), { code: 'ERR_PT_ENCODE' });
  assert.throws(() => writer.put(kinds.PACKET_PIP, { lo: 16 }), { code: 'ERR_PT_ENCODE' });
  assert.throws(() => writer.put(kinds.PACKET_TNT64, { type: 31, lo: -1 }), { code: 'ERR_PT_ENCODE' });
  assert.throws(() => writer.put(kinds.PACKET_INVALID), { code: 'ERR_PT_ENCODE' });
  assert.equal(writer.length, 0);
});

test('the last IP is put together from what packets give', () => {
  const lastIp = new LastIp();
  const steps: [number, number, number, string][] = [
    [opcodes.PT_IP_SEXT_48, 0x1000, 0xffff, 'ffffffff00001000'],
    [opcodes.PT_IP_UPDATE_16, 0x2222, 0, '00002222'],
    [opcodes.PT_IP_UPDATE_32, -1, 0, 'ffffffff'],
    [opcodes.PT_IP_UPDATE_48, 1, 0x7fff, 'ffff7fff00000001'],
    [opcodes.PT_IP_FULL, 3, 4, '0000000400000003'],
  ];
  const packet = new Packet();
  assert.equal(lastIp.known, false);
  packet.type = opcodes.PT_IP_SUPPRESSED;
  assert.equal(lastIp.update(packet), false);
  assert.deepEqual([lastIp.known, lastIp.suppressed], [false, true]);
  for (const [type, lo, hi, ending] of steps) {
    Object.assign(packet, { type, lo, hi });
    assert.equal(lastIp.update(packet), true);
    const text =
      (lastIp.hi >>> 0).toString(16).padStart(8, '0') + (lastIp.lo >>> 0).toString(16).padStart(8, '0');
    assert.ok(text.endsWith(ending), text);
  }
  lastIp.reset();
  assert.deepEqual([lastIp.lo, lastIp.hi, lastIp.known], [0, 0, false]);
});

test('a PSB is found wherever it lies, as a plain search finds it', () => {
  const pair = fc.constantFrom([0x02], [0x82], [0x02, 0x82], [0x00], Array(8).fill([2, 0x82]).flat());
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 40 }), below(20), (pieces, from) => {
      const bytes = Uint8Array.from(pieces.flat() as number[]);
      const found = findPsb(bytes, from, bytes.length);
      const starts: number[] = [];
      for (let at = from; at + 16 <= bytes.length; at++)
        if (bytes.subarray(at, at + 16).every((byte, index) => byte === (index % 2 === 0 ? 2 : 0x82)))
          starts.push(at);
      // The last of the first run: the starts of one run are two apart.
      const first = starts.find((start) => !starts.includes(start + 2)) ?? -1;
      assert.equal(found, first);
      assert.equal(findPsbBackward(bytes, from, bytes.length), starts.at(-1) ?? -1);
    }),
    { numRuns: 2000 },
  );
});

test('errata are known by family and model', () => {
  assert.equal(errataOf({ family: 0, model: 0, stepping: 0 }), null);
  assert.deepEqual(errataOf({ family: 6, model: 0x56, stepping: 1 }), {
    ...NO_ERRATA,
    bdm70: true,
    bdm64: true,
  });
  assert.deepEqual(parseCpu('6/0x5c/2'), { family: 6, model: 92, stepping: 2 });
  for (const text of ['6', '6/', '6/x', '6/1/2/3', '-6/1', 'auto']) assert.equal(parseCpu(text), null);
});

test('errata of the packet layer: an OVF inside a CYC, a TMA with a stray byte', () => {
  const cut = Uint8Array.of(0xf7, 0x02, 0xf3, 0x00);
  const plain = new PacketCursor(cut);
  assert.equal(plain.next(), 2);
  assert.equal(plain.packet.kind, kinds.PACKET_CYC);
  const repaired = new PacketCursor(cut, { errata: { ...NO_ERRATA, skd007: true } });
  assert.equal(repaired.next(), 3);
  assert.equal(repaired.packet.kind, kinds.PACKET_OVF);
  assert.equal(repaired.next(), 1);

  const stray = Uint8Array.of(0x02, 0x73, 1, 1, 1, 0, 1, 0x77, 0x00);
  assert.equal(new PacketCursor(stray).next(), BAD_PACKET);
  const skipped = new PacketCursor(stray, { errata: { ...NO_ERRATA, skz84: true } });
  assert.equal(skipped.next(), 8);
  assert.equal(skipped.packet.kind, kinds.PACKET_INVALID);
  assert.equal(skipped.next(), 1);
});

test('after damage reading goes on at the next PSB, also one that the bad packet swallowed in part', () => {
  const writer = new PacketWriter();
  writer.put(kinds.PACKET_PSB);
  const head = writer.bytes().slice();
  const tail = [...head, 0x00];
  // A MNT cut after its header: its payload is the first half of the PSB.
  const bytes = Uint8Array.from([...head, 0x39, 0x00, 0x00, ...head, 0x02, 0xc3, 0x88, ...tail]);
  const cursor = new PacketCursor(bytes);
  const seen = [...cursor.packets()].map(() => 0).length;
  assert.equal(seen, 5); // psb, psb, mnt, psb, pad
  assert.equal(cursor.resynchronizations, 2);
  assert.equal(cursor.skippedBytes, 3);
  assert.equal(cursor.position, bytes.length);
});

test('what has no bytes to index is refused, not taken for an empty trace', () => {
  const writer = new PacketWriter();
  writer.put(kinds.PACKET_PSB);
  const bytes = writer.bytes();
  const buffer = bytes.buffer.slice(0, bytes.length);
  const image = new CodeImage();
  for (const trace of [buffer, new Blob([bytes]), new DataView(buffer), [...bytes], 'walk.pt', undefined]) {
    const refused = { code: 'ERR_INPUT', remedy: /new Uint8Array/ };
    assert.throws(() => new PacketCursor(trace as never), refused);
    assert.throws(() => dumpPackets(trace as never, {}, () => {}), refused);
    assert.throws(() => new FlowDecoder(trace as never, image), refused);
    assert.throws(() => profileTrace(trace as never, image), refused);
    assert.throws(() => new CallTrace(trace as never, image, {}, {}), refused);
    assert.throws(() => streamInstructions(trace as never, image, {}, () => {}), refused);
  }
  // Of another realm, as from a frame of a page.
  const other: Uint8Array = runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] });
  assert.ok(!(other instanceof Uint8Array));
  for (const trace of [other, Buffer.from(bytes)])
    assert.equal([...new PacketCursor(trace).packets()].length, 1);
});
