/**
 * Going on after errors where code is missing: whatever ends a traced region, each
 * event is told once, in order.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { parseTraceProgram } from '../text/index.ts';
import { FlowDecoder } from './flow-decoder.ts';
import { printFlow } from './print-flow.ts';

const TRACES = 2000;
/** Code is at 0x1000 only: most addresses are not there. */
const CODE = `code 0x1000 64\n${'  nop\n'.repeat(16)}`;

/** Statements, the events that they stand for, and what they do to tracing. */
type Piece = (at: () => string) => [trace: string, events: string[], ends?: boolean];

const WHILE_ON: readonly Piece[] = [
  (at) => [`tip ${at()}`, []],
  (at) => [`tip ${at()}; tnt t n`, []],
  () => ['tnt t n n', []],
  (at) => [`fup ${at()}; tip ${at()}`, ['interrupt']],
  (at) => [`fup ${at()}; pip 0x5000; tip ${at()}`, ['interrupt', 'paging']],
  (at) => [`mode.exec 64; tip ${at()}`, []],
  (at) => [`psb; mode.exec 64; fup ${at()}; psbend`, []],
  (at) => [`ovf; fup ${at()}`, ['overflow']],
  (at) => [`exstop ip; fup ${at()}`, ['exstop']],
  (at) => [`mwait 1 0; pwre 1 1; exstop ip; fup ${at()}`, ['mwait', 'exstop', 'pwre']],
  () => ['pwrx int 1 1', ['pwrx']],
  (at) => [`mode.tsx begin; fup ${at()}`, ['begin']],
  (at) => [`cfe 1 vector 3; fup ${at()}; tip ${at()}`, ['interrupt', 'interrupt']],
  (at) => [`cfe 15 ip; fup ${at()}`, ['syscall']],
  () => ['cfe 2', ['iret']],
  (at) => [`cfe 2 ip; fup ${at()}`, ['iret']],
  () => ['ptw8 5', ['ptwrite']],
  (at) => [`ptw8 6 ip; fup ${at()}`, ['ptwrite']],
  () => ['pip 0x4000', ['paging']],
  () => ['vmcs 0x4000', ['vmcs']],
  (at) => [`trig 1 ip icnt 0; fup ${at()}`, ['trig']],
  () => ['tip.pgd -', ['disabled'], true],
  (at) => [`tip.pgd ${at()}`, ['disabled'], true],
  (at) => [`fup ${at()}; tip.pgd -`, ['disabled'], true],
  (at) => [`fup ${at()}; tip.pgd ${at()}`, ['disabled'], true],
  (at) => [`mode.tsx abort; fup ${at()}; tip.pgd -`, ['aborted', 'disabled'], true],
  (at) => [`cfe 6; fup ${at()}; tip.pgd -`, ['init', 'disabled'], true],
  () => ['ovf', ['overflow'], true],
];
const WHILE_OFF: readonly Piece[] = [
  (at) => [`tip.pge ${at()}`, ['enabled'], true],
  () => ['cbr 11', ['cbr']],
  () => ['cfe 5 vector 1', ['sipi']],
];

function flowOf(text: string): string[] {
  const program = parseTraceProgram(text, 'here');
  const image = new CodeImage();
  for (const { address, bytes } of program.code)
    image.addSection({ name: 'code', address, bytes: Uint8Array.from(bytes) });
  const lines: string[] = [];
  printFlow(new FlowDecoder(program.trace, image), { resume: true }, (line) => lines.push(line));
  return lines;
}

test('after code that is missing, the end of the region and all other events are told', () => {
  const random = new Random(12);
  const at = () =>
    random.oneIn(3)
      ? `0x10${(16 + random.below(16)).toString(16)}`
      : `0x${2 + random.below(7)}00${random.below(10)}`;
  for (let round = 0; round < TRACES; round++) {
    const trace = [`psb; mode.exec 64; fup ${at()}; psbend`];
    const expected: string[] = [];
    let isOn = true;
    for (let count = 2 + random.below(7); count > 0; count--) {
      const [statements, events, ends] = random.pick(isOn ? WHILE_ON : WHILE_OFF)(at);
      trace.push(statements);
      expected.push(...events);
      if (ends === true) isOn = !isOn;
    }
    const lines = flowOf(`title x\n${CODE}trace\n${trace.map((line) => `  ${line}\n`).join('')}`);
    const told = lines.flatMap((line) => /^\[([a-z]+)\b(?!.*error: | of trace)/.exec(line)?.[1] ?? []);
    // The mode is told anew after an overflow.
    const named = told
      .filter((word) => word !== 'exec')
      .map((word) => (word === 'resumed' ? 'enabled' : word));
    assert.deepEqual(named, expected, `${trace.join('\n')}\n${lines.join('\n')}`);
    for (const line of lines)
      if (line.includes('error')) assert.match(line, /: error: no memory mapped at this address\]$/);
  }
});

test('two stretches of missing code, then the end of tracing and a new beginning', () => {
  const trace =
    'psb; mode.exec 64; fup 0x1000; psbend\n  tip 0x3000; tnt t n; tip.pgd 0x1002\n  tip.pge 0x1001; fup 0x1002; tip.pgd -';
  assert.deepEqual(flowOf(`title x\ncode 0x1000 64\n  nop\n  nop\ntrace\n  ${trace}\n`), [
    '0000000000001000',
    '0000000000001001',
    '[1b, 1002: error: no memory mapped at this address]',
    '[23, 3000: error: no memory mapped at this address]',
    '[disabled]',
    '[enabled]',
    '0000000000001001',
    '[disabled]',
  ]);
});
