/**
 * What a broken trace, or the wrong code, must not do: hang, throw, or lead to a path
 * that is not marked as broken.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertQuick } from '../../../../core/src/test/assert-quick.ts';
import { CodeImage } from '../../code/image/index.ts';
import { errataOf } from '../packets/errata.ts';
import { PT_IP_SEXT_48, PT_MODE_EXEC_CS_L } from '../packets/opcodes.ts';
import * as kinds from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import { EVENT_ENABLED, EVENT_OVERFLOW } from './event.ts';
import { FlowDecoder } from './flow-decoder.ts';
import type { FlowOptions } from './flow-options.ts';
import { type FlowSummary, printFlow } from './print-flow.ts';

/*
 * 0x1000  dec eax          a loop of 3 bytes, then a call and a return, then back to the beginning
 * 0x1002  jne 0x1000
 * 0x1004  call 0x1010
 * 0x1009  jmp *rax
 * 0x1010  nop; ret
 */
const CODE = Uint8Array.of(0xff, 0xc8, 0x75, 0xfc, 0xe8, 7, 0, 0, 0, 0xff, 0xe0, 0, 0, 0, 0, 0, 0x90, 0xc3);

function ip(lo: number) {
  return { type: PT_IP_SEXT_48, lo, hi: 0 };
}

function header(writer: PacketWriter, tsc: number, at: number | null): void {
  writer.put(kinds.PACKET_PSB);
  writer.put(kinds.PACKET_TSC, { lo: tsc });
  writer.put(kinds.PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
  if (at !== null) writer.put(kinds.PACKET_FUP, ip(at));
  writer.put(kinds.PACKET_PSBEND);
}

/**
 * Four rounds of the program above: taken twice, not taken, a compressed return, the jump
 * back; two of them behind a PSB.
 */
function goodTrace(): Uint8Array<ArrayBuffer> {
  const writer = new PacketWriter();
  for (let round = 0; round < 4; round++) {
    if (round % 2 === 0) header(writer, 100 * round, 0x1000);
    writer.put(kinds.PACKET_TNT8, { type: 4, lo: 0b1101 });
    writer.put(kinds.PACKET_TSC, { lo: 100 * round + 10 });
    writer.put(kinds.PACKET_TIP, ip(0x1000));
  }
  writer.put(kinds.PACKET_FUP, ip(0x1002));
  writer.put(kinds.PACKET_TIP_PGD, { type: 0 });
  return writer.bytes().slice();
}

function imageOf(code: Uint8Array = CODE): CodeImage {
  const image = new CodeImage();
  if (code.length > 0) image.addSection({ name: 'code', address: 0x1000n, bytes: code });
  return image;
}

function decode(
  bytes: Uint8Array,
  image: CodeImage,
  options: FlowOptions = {},
  resume = false,
): FlowSummary & { lines: string[] } {
  const lines: string[] = [];
  const decoder = new FlowDecoder(bytes, image, options);
  let steps = 0;
  const summary = printFlow(
    decoder,
    {
      resume,
      onInstruction: () => {
        assert.ok(++steps < 100_000, 'no end');
        return true;
      },
    },
    (line) => lines.push(line),
  );
  return { ...summary, lines };
}

test('the trace itself is fine', () => {
  const { instructions, errors, lines } = decode(goodTrace(), imageOf());
  assert.deepEqual([instructions, errors.total, lines.at(-1)], [4 * 10 + 1, 0, '[disabled]']);
});

test('cut at every offset: what comes is the beginning of the whole', () => {
  const bytes = goodTrace();
  const whole = decode(bytes, imageOf()).lines;
  let longest = 0;
  for (let end = 0; end < bytes.length; end++) {
    const { lines } = decode(bytes.slice(0, end), imageOf());
    const kept = lines.filter((line) => line !== '[end of trace]');
    assert.deepEqual(kept, whole.slice(0, kept.length), `cut at ${end}`);
    longest = Math.max(longest, kept.length);
  }
  // Without the TIP.PGD nobody knows that the last instruction was executed.
  assert.equal(longest, whole.length - 2);
});

test('begun at every offset: what comes is the end of the whole, from a PSB on', () => {
  const bytes = goodTrace();
  const whole = decode(bytes, imageOf()).lines;
  for (let from = 1; from < bytes.length; from++) {
    const { lines } = decode(bytes, imageOf(), { from });
    assert.deepEqual(lines, whole.slice(whole.length - lines.length), `from ${from}`);
  }
});

test('every single bit flipped: it ends, and every error has a code and a place', () => {
  const bytes = goodTrace();
  let broken = 0;
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    for (const resume of [false, true]) {
      const { errors } = decode(flipped, imageOf(), {}, resume);
      for (const { code, count, firstOffset } of errors.list()) {
        assert.match(code, /^[a-z-]+$/);
        assert.ok(count > 0 && firstOffset <= bytes.length);
      }
      if (errors.total > 0) broken++;
    }
  }
  assert.ok(broken > bytes.length);
});

test('code that is missing or changed', () => {
  const bytes = goodTrace();
  const nothing = decode(bytes, imageOf(new Uint8Array()));
  assert.deepEqual(
    nothing.errors.list().map(({ code, count }) => [code, count]),
    [['no-map', 2]],
  );
  assert.equal(nothing.instructions, 0);
  // With the next address instead of the next PSB it is tried more often.
  assert.ok(decode(bytes, imageOf(new Uint8Array()), {}, true).errors.total > 2);
  for (let at = 0; at < CODE.length; at++)
    for (const value of [0x06, 0x90, 0xc3, 0xe9, 0x75]) {
      const changed = CODE.slice();
      changed[at] = value;
      decode(bytes, imageOf(changed));
      decode(bytes, imageOf(changed), {}, true);
      decode(bytes, imageOf(changed.subarray(0, at)), {}, true);
    }
});

test('an endless loop in the code is found, however long', () => {
  for (const length of [0, 1, 5, 63, 64, 65, 1000]) {
    // nop ... jmp back to the first
    const code = new Uint8Array(length + 5).fill(0x90);
    code[length] = 0xe9;
    new DataView(code.buffer).setInt32(length + 1, -(length + 5), true);
    const writer = new PacketWriter();
    header(writer, 0, 0x1000);
    writer.put(kinds.PACKET_TNT8, { type: 1, lo: 1 });
    header(writer, 1, 0x1000);
    const { errors, instructions } = decode(writer.bytes(), imageOf(code));
    assert.deepEqual(
      errors.list().map((one) => one.code),
      ['endless-loop'],
      `${length} nops`,
    );
    assert.ok(instructions >= length && instructions < 8 * (length + 64));
  }
});

test('a storm of overflows', async () => {
  const rounds = 2000;
  const writer = new PacketWriter();
  header(writer, 0, 0x1000);
  for (let round = 0; round < rounds; round++) {
    writer.put(kinds.PACKET_OVF);
    if (round % 3 === 1) writer.put(kinds.PACKET_FUP, ip(0x1004));
  }
  for (const model of [null, 0x4e, 0x5c, 0x97]) {
    const errata = model === null ? {} : { errata: errataOf({ family: 6, model, stepping: 0 })! };
    await assertQuick(5000, () => {
      const { overflows, instructions } = decode(writer.bytes(), imageOf(), errata);
      assert.equal(overflows, rounds, `${model}`);
      assert.equal(instructions, 0);
    });
  }
});

test('time that runs backwards moves nothing but the time', () => {
  const writer = new PacketWriter();
  for (const tsc of [1000, 10, 0]) {
    header(writer, tsc, 0x1000);
    writer.put(kinds.PACKET_TNT8, { type: 4, lo: 0b1101 });
    writer.put(kinds.PACKET_TIP, ip(0x1000));
  }
  const decoder = new FlowDecoder(writer.bytes(), imageOf(), { ticks: true });
  const times: number[] = [];
  const { errors, instructions } = printFlow(
    decoder,
    { onEvent: (event) => event.kind === EVENT_ENABLED && times.push(event.timeLo) },
    () => {},
  );
  assert.deepEqual([errors.total, instructions, times], [0, 30, [1000, 10, 0]]);
});

test('after an overflow the call stack is empty: a compressed return is an error, not a guess', () => {
  const writer = new PacketWriter();
  header(writer, 0, 0x1004);
  writer.put(kinds.PACKET_OVF);
  writer.put(kinds.PACKET_FUP, ip(0x1010));
  writer.put(kinds.PACKET_TNT8, { type: 1, lo: 1 });
  const kindsSeen: number[] = [];
  const decoder = new FlowDecoder(writer.bytes(), imageOf());
  const { errors } = printFlow(decoder, { onEvent: (event) => kindsSeen.push(event.kind) }, () => {});
  assert.ok(kindsSeen.includes(EVENT_OVERFLOW));
  assert.deepEqual(
    errors.list().map(({ code }) => code),
    ['return-stack-empty'],
  );
});

test('a million random bytes', () => {
  let state = 1;
  const bytes = Uint8Array.from({ length: 1 << 20 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state >>> 24;
  });
  for (let at = 0; at + 16 < bytes.length; at += 4096)
    bytes.set(
      [0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82],
      at,
    );
  const { errors } = decode(bytes, imageOf());
  assert.ok(errors.total >= 256);
});
