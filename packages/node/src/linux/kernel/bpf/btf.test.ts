import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { functionId, kernelFunctionId, kernelMemberOffset, memberOffset } from './btf.ts';

const VMLINUX = '/sys/kernel/btf/vmlinux';

/** Types after a header: each is a name, a kind with its members, and what stands behind it. */
function btf(
  types: readonly { name: string; kind: number; members?: number; extraBytes?: number }[],
): Buffer {
  const names = `\0${types.map(({ name }) => `${name}\0`).join('')}`;
  const bodies = types.map(({ name, kind, members = 0, extraBytes = 0 }) => {
    const body = Buffer.alloc(12 + extraBytes);
    body.writeUInt32LE(names.indexOf(`\0${name}\0`) + 1, 0);
    body.writeUInt32LE(((kind << 24) | members) >>> 0, 4);
    return body;
  });
  const typeBytes = Buffer.concat(bodies);
  const header = Buffer.alloc(24);
  header.writeUInt16LE(0xeb9f, 0);
  for (const [at, value] of [
    [4, 24],
    [12, typeBytes.length],
    [16, typeBytes.length],
    [20, names.length],
  ] as const)
    header.writeUInt32LE(value, at);
  return Buffer.concat([header, typeBytes, Buffer.from(names)]);
}

test('a function has the number of its place among all types', () => {
  const bytes = btf([
    { name: 'int', kind: 1, extraBytes: 4 },
    { name: 'pair', kind: 4, members: 2, extraBytes: 24 },
    { name: 'made', kind: 13, members: 1, extraBytes: 8 },
    { name: 'first_call', kind: 12 },
    { name: 'color', kind: 19, members: 3, extraBytes: 36 },
    { name: 'call', kind: 12 },
  ]);
  assert.equal(functionId(bytes, 'first_call'), 4);
  assert.equal(functionId(bytes, 'call'), 6);
  // A name, but not of a function; and no name at all.
  assert.equal(functionId(bytes, 'pair'), null);
  assert.equal(functionId(bytes, 'other'), null);
});

test('bytes that are damaged have no function, and end', () => {
  const whole = btf([
    { name: 'int', kind: 1, extraBytes: 4 },
    { name: 'call', kind: 12 },
  ]);
  fc.assert(
    fc.property(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255), (length, at, value) => {
      const bytes = Buffer.from(whole.subarray(0, length));
      if (at < length) bytes[at] = value;
      const id = functionId(bytes, 'call');
      assert.ok(id === null || id > 0);
    }),
  );
  assert.equal(kernelFunctionId('call', '/proc/self/cmdline'), null);
  assert.equal(kernelFunctionId('call', '/nowhere'), null);
});

test('this kernel: every function that is asked for is one of its own', {
  skip: existsSync(VMLINUX) ? false : 'this kernel has no BTF',
}, () => {
  const id = kernelFunctionId('schedule');
  assert.ok(id !== null && id > 100);
  assert.equal(kernelFunctionId('no_function_has_this_name'), null);
  // The same from the file as it stands.
  assert.equal(functionId(readFileSync(VMLINUX), 'schedule'), id);
});

/** `struct outer { int a; struct { int b; union { int c; int d; }; }; }`, its nameless parts behind it. */
function nested(): Buffer {
  const bytes = btf([
    { name: 'outer', kind: 4, members: 2, extraBytes: 24 },
    { name: '', kind: 4, members: 2, extraBytes: 24 },
    { name: '', kind: 5, members: 2, extraBytes: 24 },
    ...['a', 'b', 'c', 'd'].map((name) => ({ name, kind: 1, extraBytes: 4 })),
  ]);
  const texts = bytes.subarray(24 + bytes.readUInt32LE(12));
  const member = (struct: number, index: number, name: string, type: number, bits: number) => {
    const at = 24 + struct * 36 + 12 + index * 12;
    bytes.writeUInt32LE(name === '' ? 0 : texts.indexOf(`\0${name}\0`) + 1, at);
    bytes.writeUInt32LE(type, at + 4);
    bytes.writeUInt32LE(bits, at + 8);
  };
  for (const struct of [1, 2]) bytes.writeUInt32LE(0, 24 + struct * 36);
  member(0, 0, 'a', 4, 0);
  member(0, 1, '', 2, 64);
  member(1, 0, 'b', 4, 0);
  member(1, 1, '', 3, 32);
  member(2, 0, 'c', 4, 0);
  member(2, 1, 'd', 4, 0);
  return bytes;
}

test('members of nameless parts are those of the struct', () => {
  const bytes = nested();
  assert.deepEqual(
    ['a', 'b', 'c', 'd', 'e'].map((name) => memberOffset(bytes, 'outer', name)),
    [0, 8, 12, 12, null],
  );
  assert.equal(memberOffset(bytes, 'other', 'a'), null);
});

test('damaged types have no member, and end', () => {
  const whole = nested();
  fc.assert(
    fc.property(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255), (length, at, value) => {
      const bytes = Buffer.from(whole.subarray(0, length));
      if (at < length) bytes[at] = value;
      const offset = memberOffset(bytes, 'outer', 'e');
      assert.ok(offset === null || offset >= 0);
    }),
  );
  assert.equal(kernelMemberOffset('outer', 'a', '/nowhere'), null);
});

test('this kernel: registers stand where asm/ptrace.h has them', {
  skip: !existsSync(VMLINUX) || process.arch !== 'x64' ? 'needs BTF of x86-64' : false,
}, () => {
  assert.deepEqual(
    ['ip', 'cs', 'sp', 'no_such_register'].map((name) => kernelMemberOffset('pt_regs', name)),
    [128, 136, 152, null],
  );
  assert.ok((kernelMemberOffset('task_struct', 'mm') ?? 0) > 0);
});
