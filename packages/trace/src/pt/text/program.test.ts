import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { Random } from '../../../../core/src/test/random.ts';
import { checkPackets, packetLines } from './check-packets.ts';
import { parseTraceProgram } from './program.ts';
import { TraceTextError } from './text-error.ts';

const PROGRAMS = new URL('./programs/', import.meta.url);
const names = readdirSync(PROGRAMS).filter((name) => name.endsWith('.txt'));
const read = (name: string) => readFileSync(new URL(name, PROGRAMS), 'utf8');

test('the packets of every program are as it says', () => {
  assert.ok(names.length >= 10);
  for (const name of names) {
    const program = parseTraceProgram(read(name), name);
    assert.notEqual(program.title, '', name);
    assert.notEqual(program.packets, null, name);
    assert.deepEqual(checkPackets(program), []);
  }
});

test('code, labels and expectations of a program', () => {
  const program = parseTraceProgram(read('compressed-return.txt'));
  assert.equal(program.labels.get('leaf'), 0x401007n);
  const [code] = program.code;
  assert.equal(code!.address, 0x401000n);
  assert.equal(Buffer.from(code!.bytes).toString('hex'), 'e802000000' + '90' + 'f4' + 'ffc0' + 'c3');
  assert.deepEqual(program.flow!.at(0), { text: '0000000000401000', address: 0x401000n });
  assert.deepEqual(program.flow!.at(-1), { text: '[disabled]', address: null });
  assert.deepEqual(program.cpus, []);
});

test('branches are as wide as the mode says, backwards too', () => {
  const code = (text: string) =>
    parseTraceProgram(text).code.map(({ bytes }) => Buffer.from(bytes).toString('hex'));
  assert.deepEqual(code('code 0x100 16\n a: nop; call a; jmp.near a; jmp a'), ['90e8fcffe9f9ffebf7']);
  assert.deepEqual(code('code 0x100 32\n a: nop; call a'), ['90e8faffffff']);
  assert.deepEqual(code('code 0x100\n jmpabs 0x1122334455667788; int 0x80; retn 16; db 0f 05'), [
    'd500a18877665544332211' + 'cd80' + 'c21000' + '0f05',
  ]);
});

test('a check fails when the program is wrong', () => {
  const text = read('branch-not-taken.txt');
  assert.equal(checkPackets(parseTraceProgram(text.replace('tnt n', 'tnt t'))).length, 1);
  assert.equal(checkPackets(parseTraceProgram(text.replace('  tnt n\n', ''))).length, 3);
  assert.deepEqual(checkPackets(parseTraceProgram(`${text}\ncpu 6/78`)), []);
});

test('errors name the line and what is wrong there', () => {
  const cases: [string, RegExp][] = [
    ['codes 0x1', /1: no section 'codes'; did you mean code\?/],
    [' nop', /1: this line belongs to no section/],
    ['code here', /1: code: there is no label 'here'/],
    ['code 1 65', /1: code is 64, 32 or 16 bits wide/],
    ['code 1\n nopp', /2: no instruction 'nopp'/],
    ['code 1\n a: nop\n a: nop', /3: the label 'a' is there twice/],
    ['code 1\n jmp 0x1000', /2: 0x1000 is too far for jmp/],
    ['code 1\n nop 3', /2: nop takes no operand/],
    ['trace\n psb\n tip', /3: tip: a value is missing/],
    ['trace\n tipp 3', /2: no packet 'tipp'; did you mean tip/],
    ['trace\n tip 1 2', /2: tip: '2' is too much/],
    ['trace\n tip 0x123456789abcdef0', /2: tip: this address does not fit/],
    ['trace\n tnt ttttttt', /2: tnt: expected 1 to 6/],
    ['trace\n mtc 256', /2: mtc: the CTC does not fit/],
    ['trace\n bytes 1', /2: '1' is not a byte/],
    ['packets\n fup 3: @x', /2: there is no label 'x'/],
    ['cpu skylake', /1: 'skylake' is no processor/],
    ['time 3', /1: '3': expected mtc-freq=/],
    ['time mtc-freq=4294967296', /1: 'mtc-freq=4294967296': the number is too large/],
    ['trace\n mnt 0x1ffffffffffffffff', /2: mnt: '0x1ffffffffffffffff' has more than 64 bits/],
    ['code 0x10000000000000000\n nop', /1: code: '0x10000000000000000' has more than 64 bits/],
    ['code 1\n int 256', /2: 256 is too large for int$/],
  ];
  for (const [text, message] of cases) {
    assert.throws(
      () => parseTraceProgram(text, 'p'),
      (error) => error instanceof TraceTextError && message.test(error.message),
      text,
    );
  }
});

test('mutated programs are read or refused, never anything else', () => {
  const random = new Random(7);
  const texts = names.map(read);
  for (let round = 0; round < 2000; round++) {
    let text = random.pick(texts);
    for (let count = random.below(4); count >= 0; count--) {
      const at = random.below(text.length);
      const piece = random.pick(texts).slice(random.below(200)).slice(0, random.below(12));
      text = text.slice(0, at) + piece + text.slice(at + random.below(12));
    }
    try {
      packetLines(parseTraceProgram(text));
    } catch (error) {
      assert.ok(error instanceof CounterpointError, String(error));
    }
  }
});
