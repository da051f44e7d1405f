import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, writeScript } from '@counterpoint/core/query';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { type EncodingOptions, ExecutionEncoder, ptRecording, RandomWalk } from '../../pt/index.ts';
import { parseTraceProgram } from '../../pt/text/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const FIELDS = 'comm,tid,event,ip';

async function ours(bytes: Uint8Array<ArrayBuffer>, letters: string): Promise<string[]> {
  const source = memorySource(bytes);
  const nothing = { open: async () => null };
  let text = '';
  const { diagnostics } = await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files: nothing, options: parseItrace(letters) }),
    {
      symbols: nothing,
      fields: parseFields(FIELDS),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  assert.ok(!diagnostics.some(({ code }) => code === 'code-not-found'), 'no code is looked at');
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => !isRatio(line));
}

/** perf tells of a ratio of 0 where none is known. */
const isRatio = (line: string): boolean => / cbr: /.test(line);

function theirs(path: string, letters: string): string[] {
  return perf(['script', '-i', path, `--itrace=${letters}`, '-F', FIELDS])
    .stdout.split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => !isRatio(line));
}

async function walk(encoding: EncodingOptions): Promise<Uint8Array<ArrayBuffer> | null> {
  const programs = await loadPrograms();
  if (programs === null) return null;
  const { image, code, entries } = programs;
  const steps = new RandomWalk({ seed: 3, entries, interruptEvery: 60 });
  const trace = joinChunks(new ExecutionEncoder(image, steps, encoding).chunks({ instructions: 60_000 }));
  const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
    path,
    address,
    sizeBytes,
    fileOffset: offset,
  }));
  return writePerfData(ptRecording({ pid: 4242, comm: 'walk', mappings, trace, encoding }));
}

test('addresses that packets tell, without code, line by line as from perf', {
  skip: noPerf,
}, async (context) => {
  for (const encoding of [{}, { tsc: true }, { returnCompression: false, tsc: true }]) {
    const bytes = await walk(encoding);
    if (bytes === null) return context.skip('no gzip and libc for x86-64 here');
    const path = folder.file('quick.data', bytes);
    for (const letters of ['qi1i', 'qb', 'qbi100us', 'qbpwx', 'qqi1i', 'qqp', 'qs7ib']) {
      const lines = theirs(path, letters);
      assert.ok(lines.length > 2, `${letters}, ${lines}`);
      assert.deepEqual(await ours(bytes, letters), lines, `${JSON.stringify(encoding)}, ${letters}`);
    }
  }
});

test('interrupts, transactions, ptwrite and overflows on the way', { skip: noPerf }, async () => {
  const { code, trace } = parseTraceProgram(`title events
code 0x401000 64
  l1: inc
  l2: ptwrite
  l3: jmpi
  l4: nop
trace
  psb; mode.exec 64; fup l1; psbend
  ptw4 0x600d ip; fup l2; tip l1
  tnt tn; fup l2; tip l4
  mode.tsx begin; fup l1; tnt t; mode.tsx commit; fup l4
  mode.tsx begin; fup l1; mode.tsx abort; fup l2; tip l4
  tip.pgd -; tip.pge l1; tip l3; fup l4; tip.pgd -
  tip.pge l1; ovf; fup l2; tip l4; tip.pgd l1
`);
  const program = new Uint8Array(0x2000);
  program.set(code[0]!.bytes, 0x1000);
  const path = folder.file('program', program);
  const mappings = [{ path, address: 0x401000n, sizeBytes: 0x1000, fileOffset: 0x1000 }];
  const bytes = writePerfData(ptRecording({ pid: 77, comm: 'events', mappings, trace }));
  assert.ok(existsSync(path) && readFileSync(path).length > 0);
  const file = folder.file('events.data', bytes);
  for (const letters of ['qi1i', 'qb', 'qxw', 'qbi1ixwp'])
    assert.deepEqual(await ours(bytes, letters), theirs(file, letters), letters);
});
