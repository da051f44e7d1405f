/** Packets of random bytes, against libipt's own decoder where it is installed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { toHex } from '@counterpoint/core/base';
import { Random } from '../../../../core/src/test/random.ts';
import { FLAG_IP, Packet } from './packet.ts';
import * as kinds from './packet-kinds.ts';
import { BAD_OPCODE, BAD_PACKET, NEED_MORE, readPacket } from './read-packet.ts';

const folder = mkdtempSync(join(tmpdir(), 'pt-oracle-'));
after(() => rmSync(folder, { recursive: true }));
const ORACLE = join(folder, 'oracle');
const source = fileURLToPath(new URL('libipt-packets.c', import.meta.url));
const skip =
  spawnSync('gcc', ['-O1', '-o', ORACLE, source, '-lipt']).status === 0
    ? false
    : 'it needs gcc and libipt (Debian: apt-get install gcc libipt-dev)';

const RECORD_BYTES = 64;
const RECORDS = 4000;
/** libipt's error numbers. */
const CODES = new Map([
  [NEED_MORE, 7],
  [BAD_OPCODE, 4],
  [BAD_PACKET, 5],
]);
/** What libipt 2.0 does not know yet. */
const NEWER = [kinds.PACKET_TRIG, kinds.PACKET_BBP, kinds.PACKET_BEP, kinds.PACKET_CFE, kinds.PACKET_EVD];
const WITH_VALUE = new Set(
  'tip tip.pge tip.pgd fup tnt.8 tnt.64 pip vmcs cbr tsc tma mtc cyc mnt mwait ptw'.split(' '),
);

function extraOf(packet: Packet): number {
  switch (packet.kind) {
    case kinds.PACKET_MODE_EXEC:
    case kinds.PACKET_MODE_TSX:
      return packet.flags & 3;
    case kinds.PACKET_TMA:
      return packet.extra;
    case kinds.PACKET_PIP:
    case kinds.PACKET_EXSTOP:
      return packet.flags;
    case kinds.PACKET_PWRE:
      return (packet.type << 4) | packet.extra;
    case kinds.PACKET_PWRX:
      return (packet.extra << 4) | packet.type;
    case kinds.PACKET_PTW:
      return (packet.type << 1) | (packet.flags & FLAG_IP);
    default:
      return kinds.hasIpPayload(packet.kind) ||
        packet.kind === kinds.PACKET_TNT8 ||
        packet.kind === kinds.PACKET_TNT64
        ? packet.type
        : 0;
  }
}

test('random bytes are the same packets and the same errors for libipt', { skip }, () => {
  const seed = Date.now() & 0xffff;
  const random = new Random(seed);
  const bytes = new Uint8Array(RECORDS * RECORD_BYTES);
  const seconds = [...kinds.SECOND_BYTE_KIND.keys()].filter(
    (byte) => kinds.SECOND_BYTE_KIND[byte] !== kinds.PACKET_BAD,
  );
  for (let at = 0; at < bytes.length; at++)
    bytes[at] = random.below(3) === 0 ? random.pick([0, 2, 0xff]) : random.below(256);
  for (let at = 0; at + 2 < bytes.length; at += 2 + random.below(20))
    bytes.set([2, random.pick(seconds)], at);
  const lines = spawnSync(ORACLE, { input: bytes, encoding: 'utf8', maxBuffer: 1 << 28 }).stdout.split('\n');

  const packet = new Packet();
  let line = 0;
  let compared = 0;
  for (let record = 0; record < RECORDS; record++) {
    const begin = record * RECORD_BYTES;
    const end = begin + RECORD_BYTES;
    for (let pos = begin; ; compared++) {
      const theirs = lines[line++]!;
      const size = readPacket(bytes, pos, end, packet);
      const where = `seed ${seed}, ${Buffer.from(bytes.subarray(pos, Math.min(pos + 16, end))).toString('hex')}`;
      const isNewer = NEWER.includes(packet.kind);
      if (theirs.startsWith('error')) {
        // A PSB that breaks off in the last bytes is bad for us, and the end for libipt.
        const isPsb = packet.kind === kinds.PACKET_PSB && size === BAD_PACKET;
        if (!isNewer && !isPsb) assert.equal(theirs, `error ${CODES.get(size)}`, where);
        break;
      }
      const name = kinds.PACKET_NAMES[packet.kind]!;
      const value = WITH_VALUE.has(name) ? toHex(packet.lo >>> 0, packet.hi >>> 0) : '0';
      assert.equal(`${name} ${size} ${value} ${extraOf(packet).toString(16)}`, theirs, where);
      pos += size;
    }
  }
  assert.ok(compared > RECORDS, `${compared} packets`);
});
