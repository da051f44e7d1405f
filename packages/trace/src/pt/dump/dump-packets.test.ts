/** Columns of a dump that no reference program has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTraceProgram } from '../text/index.ts';
import { dumpPackets } from './dump-packets.ts';

function dump(trace: string): string[] {
  const program = parseTraceProgram(`title x\ntrace\n  psb; psbend\n  ${trace}\n`, 'here');
  const lines: string[] = [];
  dumpPackets(program.trace, { noOffset: true }, (line) => lines.push(line.replace(/\s+/g, ' ').trim()));
  return lines.slice(2);
}

test('events of the event trace have their names, and types that are not known say so', () => {
  const trace = Array.from({ length: 17 }, (_, type) => `cfe ${type} vector 7`).join('; ');
  const expected = [
    'cfe 0 type unknown',
    'cfe 1: 7 type intr',
    'cfe 2 type iret',
    'cfe 3 type smi',
    'cfe 4 type rsm',
    'cfe 5: 7 type sipi',
    'cfe 6 type init',
    'cfe 7 type vmentry',
    'cfe 8 type vmexit',
    'cfe 9: 7 type vmexit_intr',
    'cfe 10 type shutdown',
    'cfe 11 type unknown',
    'cfe 12: 7 type uintr',
    'cfe 13 type uiret',
    'cfe 14: 7 type swintr',
    'cfe 15 type syscall',
    'cfe 16 type unknown',
  ];
  assert.deepEqual(dump(trace), expected);
  assert.deepEqual(dump('evd 0 1; evd 1 2; evd 2 3; evd 3 4; evd 31 0xf00'), [
    'evd 0: 1 type cr2',
    'evd 1: 2 type vmxq',
    'evd 2: 3 type vmxr',
    'evd 3: 4 type unknown',
    'evd 31: f00 type unknown',
  ]);
});

test('the bits of a trigger are two hexadecimal digits', () => {
  assert.deepEqual(dump('trig 1; trig 0xa1 ip mult icnt 23; trig 0'), [
    'trig 01',
    'trig a1, ip, mult, icnt: 23',
    'trig 00',
  ]);
});
