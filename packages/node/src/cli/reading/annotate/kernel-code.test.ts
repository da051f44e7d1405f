import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-kernel-code-'));
after(() => rmSync(folder, { recursive: true }));

const HEADER_BYTES = 64 + 56;
const X86_64 = 62;

/** An ELF core file with one segment, as /proc/kcore is one. */
function core(address: bigint, code: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + code.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 4, true);
  view.setUint16(18, X86_64, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(32, 64n, true);
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 1, true);
  view.setUint32(64, 1, true);
  view.setUint32(68, 5, true);
  view.setBigUint64(72, BigInt(HEADER_BYTES), true);
  view.setBigUint64(80, address, true);
  view.setBigUint64(96, BigInt(code.length), true);
  view.setBigUint64(104, BigInt(code.length), true);
  view.setBigUint64(112, 1n, true);
  bytes.set(code, HEADER_BYTES);
  return bytes;
}

test('functions of the kernel are shown out of a copy of its memory, and never of anything else', async (t) => {
  const data = join(folder, 'kernel.data');
  const words = ['record', '-q', '-e', 'cpu-clock:k', '-F', '2000', '-o', data, '--'];
  const recorded = await counterpoint(...words, 'dd', 'if=/dev/zero', 'of=/dev/null', 'bs=4M', 'count=2000');
  if (recorded.status !== 0) {
    t.skip('the kernel may not be recorded here');
    return;
  }
  const nothing = await counterpoint('annotate', '-i', data, '--json', '--limit', '5');
  const functions = JSON.parse(nothing.out).functions;
  const hottest = functions.find((one: { dso: string }) => one.dso.startsWith('[kernel'));
  if (hottest === undefined) {
    t.skip('functions of the kernel have no names here');
    return;
  }
  // A machine with /proc/kcore has shown its code already.
  const offsets = (hottest.offsets ?? hottest.instructions).filter(
    (one: { samples: number }) => one.samples > 0,
  );
  const line = readFileSync('/proc/kallsyms', 'utf8')
    .split('\n')
    .find((one) => one.endsWith(` ${hottest.symbol}`));
  const start = BigInt(`0x${line!.split(' ')[0]}`);
  const last = offsets.at(-1).offset;
  const image = join(folder, 'kcore');
  writeFileSync(image, core(start, new Uint8Array(1 << 16).fill(0x90)));
  const { status, out, err } = await counterpoint(
    'annotate',
    '-i',
    data,
    '--kcore',
    image,
    '--json',
    hottest.symbol,
  );
  assert.equal(status, 0, err);
  const { instructions, samples } = JSON.parse(out).functions[0];
  assert.equal(instructions[0].address, `0x${start.toString(16)}`);
  assert.equal(instructions[0].text, 'nop');
  const hits = instructions.filter((one: { samples: number }) => one.samples > 0);
  assert.equal(
    hits.reduce((sum: number, one: { samples: number }) => sum + one.samples, 0),
    samples,
  );
  assert.equal(hits.at(-1).offset, last);
  // A copy that does not have the function.
  writeFileSync(image, core(start + 0x100000n, new Uint8Array(4096)));
  const other = await counterpoint('annotate', '-i', data, '--kcore', image, hottest.symbol);
  assert.equal(other.status, 1);
  assert.match(other.out, /the copy of the kernel's code does not have it/);
});
