import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as abi from './index.ts';

const facts = new Map(Object.entries(abi as Readonly<Record<string, unknown>>));

function numbers(prefix: string): [string, number][] {
  return [...facts].filter(
    (entry): entry is [string, number] => entry[0].startsWith(prefix) && typeof entry[1] === 'number',
  );
}

test('record types have one name each', () => {
  const types = numbers('PERF_RECORD_').filter(([name]) => !/_MISC_|USER_TYPE_START/.test(name));
  assert.equal(new Set(types.map(([, value]) => value)).size, types.length);
  assert.deepEqual(
    types.map(([, value]) => value).sort((a, b) => a - b),
    [...abi.RECORD_NAMES.keys()],
  );
  assert.equal(new Set(abi.RECORD_NAMES.values()).size, abi.RECORD_NAMES.size);
  for (const [name, value] of types)
    assert.equal(abi.recordTypeName(value), name.replace(/^PERF_RECORD_(HEADER_)?/, ''));
  assert.equal(abi.recordTypeName(87), 'unknown(87)');
});

test('features of perf are named in the order of their bits', () => {
  for (const [name, bit] of numbers('FEATURE_')) {
    if (/_BITS$/.test(name) || bit >= abi.FEATURE_VENDOR_START) continue;
    assert.equal(abi.featureName(bit), name.replace('FEATURE_', ''));
  }
  assert.equal(
    abi.FEATURE_NAMES.length - 1,
    Math.max(
      ...numbers('FEATURE_')
        .map(([, bit]) => bit)
        .filter((bit) => bit < 128),
    ),
  );
  assert.equal(abi.featureName(129), 'feature(129)');
});

test('sample bits and read formats are named in the order of their bits', () => {
  abi.SAMPLE_BIT_NAMES.forEach((name, bit) => {
    assert.equal(facts.get(`PERF_SAMPLE_${name}`), 1 << bit);
  });
  abi.READ_FORMAT_NAMES.forEach((name, bit) => {
    assert.equal(facts.get(`PERF_FORMAT_${name}`), 1 << bit);
  });
});

// The kernel's own header, where this machine has it: whatever it defines under
// one of our names has our value.
const HEADER = '/usr/include/linux/perf_event.h';

test('constants have the values of the kernel header', {
  skip: existsSync(HEADER) ? false : 'no kernel headers',
}, () => {
  const text = readFileSync(HEADER, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  let compared = 0;
  for (const [, name, value] of text.matchAll(/\b(PERF_[A-Z0-9_]+)\s*=\s*([^,}\n]+)/g)) {
    const ours = facts.get(name!);
    if (typeof ours !== 'number') continue;
    const theirs = evaluate(value!);
    if (theirs === null) continue;
    assert.equal(BigInt.asUintN(64, BigInt(ours)), theirs, name);
    compared++;
  }
  for (const [, name, value] of text.matchAll(/#define\s+(PERF_[A-Z0-9_]+)\s+([^\n]+)/g)) {
    const ours = facts.get(name!);
    const theirs = evaluate(value!);
    if (typeof ours !== 'number' || theirs === null) continue;
    assert.equal(BigInt.asUintN(64, BigInt(ours)), theirs, name);
    compared++;
  }
  assert.ok(compared > 60, `only ${compared} constants compared`);
});

/** `12`, `0x10`, `1U << 3`, `(1 << 14)`, `(__u64)-128`; null for anything else. */
function evaluate(text: string): bigint | null {
  const plain = text.replace(/\(__u64\)|[()]|(?<=\d)U?L*\b/g, '').trim();
  const shift = /^(\d+)\s*<<\s*(\d+)$/.exec(plain);
  if (shift !== null) return BigInt(shift[1]!) << BigInt(shift[2]!);
  return /^-?\d+$|^0x[0-9a-f]+$/i.test(plain)
    ? BigInt.asUintN(64, BigInt(plain.startsWith('-') ? -BigInt(plain.slice(1)) : plain))
    : null;
}

test('the attr flags are those of the kernel header', {
  skip: existsSync(HEADER) ? false : 'no kernel headers',
}, () => {
  const text = readFileSync(HEADER, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const start = text.indexOf('struct perf_event_attr {');
  const struct = text.slice(start, text.indexOf('\n};', start));
  let bit = 0;
  for (const [, name, width] of struct.matchAll(/\b(\w+)\s*:\s*(\d+)/g)) {
    if (name!.startsWith('__reserved')) break;
    const row = abi.ATTR_FLAGS.find(([ours]) => abi.ATTR_KERNEL_NAMES[ours] === name);
    assert.deepEqual(row?.slice(1), [bit, Number(width)], name);
    bit += Number(width);
  }
  assert.ok(bit > 30);
});

const BPF_HEADER = '/usr/include/linux/bpf.h';

test('BPF constants, helpers and types have the values of the kernel header', {
  skip: existsSync(BPF_HEADER) ? false : 'no kernel headers',
}, () => {
  const text = ['/usr/include/linux/bpf_common.h', BPF_HEADER]
    .map((path) => readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, ''))
    .join('\n');
  let compared = 0;
  for (const [, name, value] of text.matchAll(/^#define\s+(BPF_\w+)\s+(0x[0-9a-f]+|\d+)\s*$/gim)) {
    const ours = facts.get(name!);
    if (ours === undefined) continue;
    assert.equal(ours, Number(value), name);
    compared++;
  }
  assert.ok(compared > 40, `${compared} compared`);
  // The list of helpers by number (6.1 and later), or in the order of an enum (before).
  const listed = [...text.matchAll(/\bFN\((\w+)(?:, (\d+))?/g)].filter(
    ([, name]) => name !== 'x' && name !== 'unspec',
  );
  let helpers = 0;
  for (const [index, [, name, number]] of listed.entries()) {
    const ours = (abi.BPF_HELPERS as Readonly<Record<string, readonly [number, number]>>)[name!];
    assert.equal(ours?.[0], number === undefined ? index + 1 : Number(number), name);
    helpers++;
  }
  assert.ok(helpers > 100, `${helpers} helpers`);
});

test('BPF helpers are numbered without a hole', () => {
  assert.deepEqual(
    Object.values(abi.BPF_HELPERS).map(([number]) => number),
    Array.from({ length: 211 }, (_, index) => index + 1),
  );
});
