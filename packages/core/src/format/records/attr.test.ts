import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import { ATTR_FIELDS, ATTR_FLAGS, ATTR_SIZES } from '../abi/index.ts';
import { attrFlagsWord, encodeAttr, encodeAttrShortest, makeAttr, readAttr } from './index.ts';

const NEWEST = ATTR_SIZES[ATTR_SIZES.length - 1]!;

function randomAttrBytes(random: Random, size: number, littleEndian: boolean): Uint8Array<ArrayBuffer> {
  const bytes = random.bytes(size);
  new DataView(bytes.buffer).setUint32(4, size, littleEndian);
  return bytes;
}

for (const littleEndian of [true, false]) {
  test(`any attr of any published size comes back byte for byte, ${littleEndian ? 'little' : 'big'}-endian`, () => {
    const random = new Random(1);
    for (const size of [...ATTR_SIZES, NEWEST + 8, NEWEST + 24]) {
      for (let round = 0; round < 20; round++) {
        const bytes = randomAttrBytes(random, size, littleEndian);
        // A last byte that is not zero needs the whole size.
        bytes[size - 1] = 0x55;
        const attr = readAttr(new DataView(bytes.buffer), 0, size, littleEndian);
        assert.equal(attr.size, size);
        assert.deepEqual(encodeAttrShortest(attr, littleEndian), bytes, `size ${size}`);
        assert.equal(attr.tail.length, Math.max(0, size - NEWEST));
        const full = encodeAttr(attr, littleEndian);
        assert.equal(full.length, Math.max(size, NEWEST));
        assert.deepEqual(full.subarray(8, size), bytes.subarray(8));
      }
    }
  });
}

test('an attr is cut to the shortest published size that loses nothing', () => {
  const cases: [Parameters<typeof makeAttr>[0], number][] = [
    [{}, 64],
    [{ config1: 1n }, 64],
    [{ config2: 1n }, 72],
    [{ branchSampleType: 1n }, 80],
    [{ clockId: -1 }, 96],
    [{ sampleRegsIntr: 1n << 63n }, 104],
    [{ sampleMaxStack: 1 }, 112],
    [{ auxSampleSize: 1 }, 120],
    [{ sigData: 1n }, 128],
    [{ config3: 1n }, 136],
    [{ config4: 1n }, 144],
    [{ tail: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1) }, 152],
    [{ tail: new Uint8Array(8) }, 64],
  ];
  for (const [fields, size] of cases) {
    const attr = makeAttr(fields);
    const bytes = encodeAttrShortest(attr);
    assert.equal(bytes.length, size);
    assert.deepEqual(readAttr(new DataView(bytes.buffer), 0, size, true), {
      ...attr,
      size,
      tail: bytes.slice(144),
    });
    for (const atLeast of [64, 100, 144, 160]) {
      const wide = encodeAttrShortest(attr, true, atLeast);
      assert.ok(wide.length >= Math.max(size, atLeast));
      assert.equal(new DataView(wide.buffer).getUint32(4, true), wide.length);
    }
  }
});

test('flags are bit fields: from the lowest bit up on one machine, from the highest down on the other', () => {
  for (const [name, bit, width] of ATTR_FLAGS) {
    const attr = makeAttr({ flags: { [name]: 1 } });
    assert.equal(attrFlagsWord(attr), 1n << BigInt(bit));
    assert.equal(attrFlagsWord(attr, false), 1n << BigInt(64 - bit - width));
  }
  // As gcc lays out `disabled`, `precise_ip = 2` and an unknown bit 63 for a big-endian machine.
  const attr = makeAttr({ flags: { disabled: 1, preciseIp: 2 }, unknownFlags: 1n << 63n });
  assert.deepEqual([...encodeAttr(attr, false).subarray(40, 48)], [0x80, 0x01, 0, 0, 0, 0, 0, 0x01]);
});

test('a size that ends inside a field, or beyond the bytes, reads zeros', () => {
  const bytes = new Random(2).bytes(100);
  const attr = readAttr(new DataView(bytes.buffer), 0, 70, true);
  assert.notEqual(attr.config1, 0n);
  assert.equal(attr.config2, 0n);
  assert.equal(attr.config3, 0n);
  assert.deepEqual(readAttr(new DataView(bytes.buffer), 90, 1e9, true).tail.length, 0);
  assert.deepEqual(readAttr(new DataView(bytes.buffer), 200, 64, true), makeAttr());
});

test('fields and flags stand side by side without gap or overlap', () => {
  const sizes = { u16: 2, u32: 4, i32: 4, u64: 8 };
  let end = 0;
  for (const [name, kind, offset] of ATTR_FIELDS) {
    assert.equal(offset, end, name);
    end = offset + sizes[kind];
  }
  assert.equal(end, NEWEST);
  let bit = 0;
  for (const [name, first, width] of ATTR_FLAGS) {
    assert.equal(first, bit, name);
    bit += width;
  }
});

test('an attr that is made shares nothing with others that would be changed', () => {
  const [first, second] = [makeAttr(), makeAttr()];
  first.flags.disabled = 1;
  first.config = 5n;
  assert.deepEqual([second.flags.disabled, second.config], [0, 0n]);
});
