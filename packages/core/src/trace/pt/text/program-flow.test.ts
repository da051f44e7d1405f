/** The flow of every program that says what it expects, by the exact decoder. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CodeImage } from '../../image/index.ts';
import type { Cpu } from '../errata.ts';
import { errataOf, NO_ERRATA } from '../errata.ts';
import { AddressFilter } from '../flow/address-filter.ts';
import { FlowDecoder } from '../flow/flow-decoder.ts';
import { printFlow } from '../flow/print-flow.ts';
import type { TraceProgram } from './program.ts';
import { parseTraceProgram } from './program.ts';

const PROGRAMS = new URL('../programs/', import.meta.url);

function flowLines(program: TraceProgram, cpu: Cpu | null): string[] {
  const image = new CodeImage();
  for (const { address, bytes } of program.code) image.addSection({ name: program.name, address, bytes });
  const errata = (cpu === null ? null : errataOf(cpu)) ?? NO_ERRATA;
  const decoder = new FlowDecoder(program.trace, image, {
    errata,
    filter: new AddressFilter([]),
    settings: { ...program.time, errata },
    interruptFlags: program.options.includes('interrupt-flags'),
    ticks: program.options.includes('ticks'),
  });
  const lines: string[] = [];
  printFlow(
    decoder,
    { quiet: false, eventTime: false, eventIp: program.options.includes('event-ip'), resume: false },
    (text) => lines.push(text.trim().replace(/\s+/g, ' ')),
  );
  return lines.filter((line) => line !== '');
}

test('the flow of every program is as it says', () => {
  let flows = 0;
  for (const name of readdirSync(PROGRAMS)) {
    const program = parseTraceProgram(readFileSync(new URL(name, PROGRAMS), 'utf8'), name);
    if (program.flow === null) continue;
    const expected = program.flow.map(({ text }) => text);
    for (const cpu of program.cpus.length === 0 ? [null] : program.cpus)
      assert.deepEqual(flowLines(program, cpu), expected, name);
    flows++;
  }
  assert.ok(flows >= 8, `${flows} flows`);
});

test('a wrong outcome makes another flow', () => {
  const text = readFileSync(new URL('branch-not-taken.txt', PROGRAMS), 'utf8');
  const program = parseTraceProgram(text.replace('tnt n', 'tnt t'));
  assert.notDeepEqual(
    flowLines(program, null),
    program.flow!.map((line) => line.text),
  );
});
