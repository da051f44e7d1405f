import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, writeScript } from '@counterpoint/core/query';
import { makeAttr } from '@counterpoint/core/records';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { PT_CONFIG_EVENT_TRACE, ptRecording } from '../../pt/index.ts';
import { parseTraceProgram } from '../../pt/text/index.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const PAGE = 0x1000;
const FIELDS = 'comm,tid,event,synth,ip';

/** A fault, its handler and the way back, twice; with event trace switched on, or not. */
async function recordingOf(isOn: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const { code, trace } = parseTraceProgram(`title events
code 0x401000 64
  l1: inc
  l2: nop
  l3: jne l1
  l4: nop
  h1: nop
  h2: iretq
trace
  psb; mode.exec 64; fup l1; psbend
  evd 0 0xf00baa; cfe 1 vector 14 ip; fup l2; tip h1
  cfe 2; tip l2
  tnt t
  cfe 1 vector 32 ip; fup l2; tip h1
  cfe 2 ip; fup h2; tip l2
  tnt n
  cfe 3 ip; fup l4; tip.pgd -
`);
  const program = new Uint8Array(2 * PAGE);
  program.set(code[0]!.bytes, PAGE);
  const path = folder.file('program', program);
  const mappings = [{ path, address: 0x401000n, sizeBytes: PAGE, fileOffset: PAGE }];
  const { attrs, records } = ptRecording({ pid: 77, comm: 'events', mappings, trace });
  const recorded = attrs.map((event, index) =>
    index > 0 || !isOn
      ? event
      : { ...event, attr: makeAttr({ ...event.attr, config: event.attr.config | PT_CONFIG_EVENT_TRACE }) },
  );
  return writePerfData({ attrs: recorded, records });
}

async function ours(bytes: Uint8Array<ArrayBuffer>, letters = 'I', fields = FIELDS): Promise<string> {
  const source = memorySource(bytes);
  const files = {
    open: async ({ path }: { path: string }) =>
      existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
  };
  let text = '';
  await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files, options: parseItrace(letters) }),
    {
      symbols: files,
      fields: parseFields(fields),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  return text;
}

test('event trace: what redirected the CPU, where, with its data, as perf tells it', {
  skip: noPerf,
}, async () => {
  const bytes = await recordingOf(true);
  const path = folder.file('events.data', bytes);
  const theirs = perf(['script', '-i', path, '--itrace=I', '-F', FIELDS]);
  const lines = (text: string) => text.split('\n').map((line) => line.trimEnd());
  assert.ok(theirs.stdout.includes('PFA: 0xf00baa'), theirs.stdout + theirs.stderr);
  // perf 6.1 tells of no return from an interrupt.
  const isReturn = (line: string) => line.includes('cfe: IRET');
  const mine = lines(await ours(bytes));
  assert.deepEqual(
    mine.filter((line) => !isReturn(line)),
    lines(theirs.stdout),
  );
  assert.deepEqual(
    mine.filter(isReturn).map((line) => /IP: \d/.exec(line)?.[0]),
    ['IP: 0', 'IP: 1'],
  );
  assert.equal(await ours(await recordingOf(false)), '');
});

/**
 * CLI, STI and interrupts, with what they do to the interrupt flag; and as if the
 * processor had no event trace.
 */
async function changesOf(eventTrace: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const { code, trace } = parseTraceProgram(`title interrupt flag
code 0x401000 64
  l1: inc
  l2: nop
  l3: jne l1
  l4: nop
  l5: nop
  h1: nop
  h2: iretq
trace
  psb; mode.exec 64 if; fup l1; psbend
  cfe 1 vector 32; fup l2; mode.exec 64; tip h1
  mode.exec 64 if; tip l2
  tnt t
  mode.exec 64; fup l2
  tnt t
  cfe 1 vector 34; fup l2; tip h1
  mode.exec 64 if; fup h2; tip l2
  tnt t
  mode.exec 64; fup l2
  tnt t
  mode.exec 64 if; fup l2
  tnt n
  cfe 1 vector 33; fup l5; tip.pgd h1
  mode.exec 64; tip.pge l1
  tnt t
  tnt n
  tip l1
  tnt n
  cfe 3 ip; fup l4; tip.pgd -
`);
  const program = new Uint8Array(2 * PAGE);
  program.set(code[0]!.bytes, PAGE);
  const path = folder.file('flags', program);
  const mappings = [{ path, address: 0x401000n, sizeBytes: PAGE, fileOffset: PAGE }];
  return writePerfData(ptRecording({ pid: 77, comm: 'events', mappings, trace, eventTrace }));
}

test('the interrupt flag: its changes, and what branches say of it, as perf tells them', {
  skip: noPerf,
}, async () => {
  const bytes = await changesOf(true);
  const path = folder.file('flags.data', bytes);
  const fields = 'comm,tid,event,flags,ip,synth';
  const theirs = (letters: string) =>
    perf(['script', '-i', path, `--itrace=${letters}`, '-F', fields]).stdout.split('\n');
  const mine = async (letters: string) => (await ours(bytes, letters, fields)).split('\n');
  const branches = await mine('b');
  assert.ok(branches.length > 10);
  assert.deepEqual(branches, theirs('b'));
  const isChange = (line: string) => line.includes('iflag:');
  const changes = (await mine('I')).filter(isChange);
  assert.equal(changes.length, 7);
  assert.deepEqual(changes, theirs('I').filter(isChange));
  // In their order: a change comes before the sample of the branch that made it.
  const isOrdered = (line: string) => /iflag:|branches:/.test(line);
  assert.deepEqual((await mine('Ib')).filter(isOrdered), theirs('Ib').filter(isOrdered));
  const without = await ours(await changesOf(false), 'Ib', fields);
  assert.doesNotMatch(without, /iflag:|\(D|\(t/);
});
