/** The project's own trace programs: what each says of its flow. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CodeImage } from '../../code/image/index.ts';
import { type Cpu, errataOf, NO_ERRATA } from '../packets/errata.ts';
import { checkPackets, parseTraceProgram, type TraceProgram } from '../text/index.ts';
import { AddressFilter } from './address-filter.ts';
import { FlowDecoder } from './flow-decoder.ts';
import { printFlow } from './print-flow.ts';

/** Beside the packets, and the rare cases beside the flow. */
const FOLDERS = [new URL('../text/programs/', import.meta.url), new URL('programs/', import.meta.url)];

function flowOf(program: TraceProgram, cpu: Cpu | null): string[] {
  const image = new CodeImage();
  for (const [at, { address, bytes }] of program.code.entries())
    image.addSection({ name: `code ${at}`, address, bytes: Uint8Array.from(bytes) });
  const settings = new Map(
    program.options.map((word): [string, string] => {
      const at = word.indexOf('=');
      return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)];
    }),
  );
  const number = (name: string) => BigInt(settings.get(name) ?? 0);
  const filter = new AddressFilter([
    {
      use: Number(number('filter:addr0_cfg')),
      first: number('filter:addr0_a'),
      last: number('filter:addr0_b'),
    },
  ]);
  const errata = (cpu === null ? null : errataOf(cpu)) ?? NO_ERRATA;
  const decoder = new FlowDecoder(program.trace, image, {
    errata,
    filter,
    settings: { ...program.time, errata },
    ticks: settings.has('event:tick'),
    interruptFlags: settings.has('event:iflags'),
  });
  const lines: string[] = [];
  printFlow(
    decoder,
    {
      eventIp: settings.has('event:ip'),
      eventTime: settings.has('event:time'),
      resume: settings.has('resync-on-error'),
    },
    (line) => lines.push(line),
  );
  return lines;
}

for (const folder of FOLDERS)
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.txt'))) {
    const program = parseTraceProgram(readFileSync(new URL(name, folder), 'utf8'), name);
    const { flow } = program;
    if (flow === null) continue;
    test(`${name}: ${program.title}`, () => {
      const expected = flow.map(({ text }) => text.replace(/\s+/g, ' '));
      for (const cpu of program.cpus.length === 0 ? [null] : program.cpus)
        assert.deepEqual(
          flowOf(program, cpu).map((line) => line.replace(/\s+/g, ' ')),
          expected,
        );
    });
  }

test('the example of the grammar, in the comment of parseTraceProgram, is as it says', () => {
  const source = readFileSync(new URL('../text/program.ts', import.meta.url), 'utf8');
  const comment = source.slice(0, source.indexOf('export function parseTraceProgram'));
  const lines = [...comment.matchAll(/^ \* {5}(.*)$/gm)].map((match) => match[1]!);
  const program = parseTraceProgram(lines.join('\n'), 'example');
  assert.deepEqual(program.cpus, [{ family: 6, model: 92, stepping: 0 }]);
  assert.equal(program.packets!.length, 6);
  assert.deepEqual(checkPackets(program), []);
  assert.deepEqual(
    flowOf(program, program.cpus[0]!),
    program.flow!.map(({ text }) => text),
  );
});
