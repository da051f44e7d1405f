import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { ingestPerfData } from '@counterpoint/core/ingest';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { collectStats, parseFields, type ScriptResult, writeScript } from '@counterpoint/core/query';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { corpusFiles, hasSharedCorpus } from '../../../../core/src/test/corpus.ts';
import { noPerf, perf, TemporaryFolder } from '../../../../core/src/test/perf.ts';
import { CodeImage } from '../../code/image/index.ts';
import {
  type EncodingOptions,
  ExecutionEncoder,
  profileTrace,
  ptRecording,
  RandomWalk,
} from '../../pt/index.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { parseItrace, withTrace } from './index.ts';

const folder = new TemporaryFolder();
after(() => folder.remove());

const disk: SymbolDriver = {
  open: async ({ need, path }) =>
    need === 'binary' && existsSync(path) ? memorySource(new Uint8Array(readFileSync(path))) : null,
};

const NO_PROGRAMS = 'no gzip and libc for x86-64 here';
const ENCODINGS: Record<string, EncodingOptions> = {
  plain: {},
  'without compressed returns': { returnCompression: false, tsc: true },
  tsc: { tsc: true },
  mtc: { tsc: true, mtc: true },
  cyc: { tsc: true, mtc: true, cyc: true, longTnt: true },
};

/** Instructions of gzip and libc, as a recording. */
async function recordingOf(
  encoding: EncodingOptions,
  seed: number,
  instructions = 20_000,
  mode: 'file' | 'pipe' = 'file',
): Promise<Uint8Array<ArrayBuffer> | null> {
  const programs = await loadPrograms();
  if (programs === null) return null;
  const { image, code, entries } = programs;
  const walk = new RandomWalk({ seed, entries, interruptEvery: 60 });
  const encoder = new ExecutionEncoder(image, walk, encoding);
  const trace = joinChunks(encoder.chunks({ instructions }));
  const mappings = code.map(({ path, address, sizeBytes, offset }) => ({
    path,
    address,
    sizeBytes,
    fileOffset: offset,
  }));
  return writePerfData({ ...ptRecording({ pid: 4242, comm: 'walk', mappings, trace, encoding }), mode });
}

async function ours(
  bytes: Uint8Array<ArrayBuffer>,
  letters: string,
  options: { fields?: string; nanoseconds?: boolean; dsoWidth?: number; files?: SymbolDriver } = {},
): Promise<ScriptResult & { text: string }> {
  const source = memorySource(bytes);
  const decoder = new TextDecoder();
  let text = '';
  const { fields, files = disk, ...rest } = options;
  const result = await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files, options: parseItrace(letters) }),
    {
      symbols: files,
      ...(fields === undefined ? {} : { fields: parseFields(fields) }),
      ...rest,
    },
    (utf8) => {
      text += decoder.decode(utf8, { stream: true });
    },
  );
  return { ...result, text };
}

/**
 * Names and their columns do not matter: where several symbols, or stubs of the PLT, have one
 * address, perf chooses another.
 */
const nameless = (line: string): string =>
  line
    .replaceAll(/\s(?:[\w.@*:]+\+0x[0-9a-f]+|\[unknown\]) \(/g, ' NAME (')
    .replace(/(\)\t *)\S+ *$/, '$1NAME')
    .trimEnd();

/** Calls that perf 6.1 names otherwise: through the PLT, and into places that have no symbol for it. */
const isOtherwise = (line: string): boolean => /@plt|\t *[0-9a-f]{8,16} *$/.test(line);

/** Line by line; the first that differs is shown, not all of some thousands. */
function assertSameLines(mine: string, theirs: string, name: string, form = (line: string) => line): void {
  const ourLines = mine.split('\n');
  // Without CBR packets perf tells of a ratio of 0.
  const theirLines = theirs.split('\n').filter((line) => !line.includes('cbr:  0 freq'));
  for (const [index, line] of theirLines.entries()) {
    const our = ourLines[index] ?? '';
    if (isOtherwise(line) || isOtherwise(our)) continue;
    assert.equal(form(nameless(our)), form(nameless(line)), `${name}, line ${index + 1}`);
  }
  assert.equal(ourLines.length, theirLines.length, name);
}

const timeless = (line: string): string => line.replace(/\d+\.\d{6,9}: /, '');

const LETTERS = [
  ...['i1i', 'i1000i', 'b', 'c', 'r', 'cr', 'g16i1000i', 'xg3i777i', 'l8i1000i', 's100b', 'cepwx'],
  ...['ps1i100i', 'ps6i100i', 'ps10i1000i', 's3i500ib', 'ps40cr'],
];

for (const [index, [name, encoding]] of Object.entries(ENCODINGS).entries())
  test(`an execution (${name}): the lines are perf's, letter by letter`, {
    skip: noPerf,
  }, async (context) => {
    const bytes = await recordingOf(encoding, 11 + index);
    if (bytes === null) return context.skip(NO_PROGRAMS);
    const path = folder.file(`${index}.data`, bytes);
    for (const letters of [...LETTERS, ...(encoding.cyc === true ? [] : ['i1us', 'i10us', 'i5000t'])]) {
      const theirs = perf(['script', '-i', path, `--itrace=${letters}`]);
      const mine = await ours(bytes, letters);
      assert.ok(theirs.stdout !== '' || letters === 'i10us', `${letters}: ${theirs.stderr}`);
      // Cycles become times by other rules than perf's, which differ by less than a microsecond here.
      assertSameLines(mine.text, theirs.stdout, letters, encoding.cyc === true ? timeless : undefined);
    }
  });

test('a longer execution without times: instructions are the clock', { skip: noPerf }, async (context) => {
  const bytes = await recordingOf({}, 3, 300_000);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const path = folder.file('long.data', bytes);
  for (const letters of ['i1us', 'g4i20us']) {
    const theirs = perf(['script', '-i', path, `--itrace=${letters}`]);
    assertSameLines((await ours(bytes, letters)).text, theirs.stdout, letters);
  }
});

test('instructions with their bytes, calls and returns by their depth', { skip: noPerf }, async (context) => {
  const bytes = await recordingOf({ tsc: true }, 5);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const path = folder.file('views.data', bytes);
  const views = [
    { option: '--insn-trace', letters: 'i0ns', fields: '+insn,-event,-period', dsoWidth: 0 },
    {
      option: '--call-trace',
      letters: 'cewp',
      fields: '-ip,-addr,-event,-period,+callindent',
      dsoWidth: 50,
    },
    {
      option: '--call-ret-trace',
      letters: 'crewp',
      fields: '-ip,-addr,-event,-period,+flags,+callindent',
      dsoWidth: 0,
    },
  ];
  for (const { option, letters, ...options } of views) {
    const theirs = perf(['script', '-i', path, option]);
    const mine = await ours(bytes, letters, { ...options, nanoseconds: true });
    assertSameLines(mine.text, theirs.stdout, option);
  }
});

test('flags of instructions: branches gone or not, and with what tracing goes off', {
  skip: noPerf,
}, async (context) => {
  for (const [index, encoding] of [
    {},
    { tsc: true },
    { returnCompression: false, psbBytes: 256 },
  ].entries()) {
    const bytes = await recordingOf(encoding, 31 + index);
    if (bytes === null) return context.skip(NO_PROGRAMS);
    const path = folder.file(`flags${index}.data`, bytes);
    for (const letters of ['i1i', 'i7ib', 'i50i', 'qbi1i']) {
      const fields = 'ip,event,flags';
      const theirs = perf(['script', '-i', path, `--itrace=${letters}`, '-F', fields]).stdout;
      assertSameLines((await ours(bytes, letters, { fields })).text, theirs, letters);
      const found = new Set(theirs.match(/(?<=instructions:u: +)\S.*?(?= {3})/g));
      const expected = letters.startsWith('q') ? ['tr end  async'] : ['jcc', 'call', 'jmp', 'return'];
      for (const name of expected) assert.ok(found.has(name), `${letters}: ${[...found]}`);
      if (letters === 'i1i') assert.ok(found.has('tr end  syscall'), `${letters}: ${[...found]}`);
    }
  }
});

test('an error that nothing gets past is one error, and not one more for having tried', async () => {
  const psb = Array<number[]>(8).fill([0x02, 0x82]).flat();
  const header = [...psb, 0x99, 0x01, 0x02, 0x23];
  const enable = [0x71, 0x00, 0x10, 0, 0, 0, 0];
  const place = enable.slice(1);
  // Outcomes of `l: jne l`, tracing goes off, and yet there is a target.
  const damaged = [0xfe, 0x61, ...place, 0x6d, ...place];
  const trace = Uint8Array.from([...header, ...enable, ...damaged, ...header, ...enable, 0xfe]);
  const program = new Uint8Array(0x2000);
  program.set([0x75, 0xfe], 0x1000);
  const path = folder.file('program', program);
  const mappings = [{ path, address: 0x1000n, sizeBytes: 0x1000, fileOffset: 0x1000 }];
  const bytes = writePerfData(ptRecording({ pid: 7, comm: 'one', mappings, trace }));
  const { text, diagnostics } = await ours(bytes, 'e');
  assert.equal(text.split('\n').filter((line) => line.includes('instruction trace error')).length, 1, text);
  const said = diagnostics.find(({ code }) => code === 'trace-errors');
  assert.match(said?.detail ?? '', /^1 error/);
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: program.subarray(0x1000) });
  for (const resume of [false, true]) {
    const { errors, profile } = profileTrace(trace, image, { resume });
    assert.deepEqual(
      errors.map(({ count }) => count),
      [1],
      `resume: ${resume}`,
    );
    assert.ok(profile.totals().branches >= 6);
  }
});

/** Where a branch went is not among the fields that perf prints once some are added. */
const withoutTarget = (line: string): string =>
  line.replace(/ =>.*?\((?:\[unknown\]|\/[^)]*)\)/, '').replace(/\s+$/, '');

test('cycles: at the instructions at which they are known, or everywhere with A', {
  skip: noPerf,
}, async (context) => {
  const bytes = await recordingOf({ tsc: true, mtc: true, cyc: true, longTnt: true }, 11);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const path = folder.file('cycles.data', bytes);
  for (const letters of ['b', 'cr', 'i1i', 'i100i', 'Ab', 'Acr', 'Ai100i']) {
    const theirs = perf(['script', '-i', path, `--itrace=${letters}`, '-F', '+ipc']).stdout;
    const mine = await ours(bytes, letters, { fields: '+ipc' });
    assert.ok((theirs.match(/IPC/g)?.length ?? 0) > 2);
    assertSameLines(mine.text, theirs, letters, (line) => timeless(withoutTarget(line)));
  }
});

test('when something happened does not depend on how many samples are made, nor on which engine decodes', async (context) => {
  // Estimates from cycles are ahead of the packet behind them now and then, and some packets
  // tell the same time once more.
  for (const [name, seed] of [
    ['cyc', 5],
    ['cyc', 12],
    ['mtc', 6],
  ] as const) {
    const bytes = await recordingOf(ENCODINGS[name]!, seed);
    if (bytes === null) return context.skip(NO_PROGRAMS);
    const linesOf = async (letters: string): Promise<string[]> => {
      const { text } = await ours(bytes, letters, { fields: 'event,time,ip', nanoseconds: true });
      return text.split('\n').filter((line) => line.includes('instructions:u'));
    };
    const every = await linesOf('i1i');
    assert.ok(every.length >= 20_000);
    // `A` is for the exact decoder alone.
    assertSameLines((await linesOf('Ai1i')).join('\n'), every.join('\n'), `${name} ${seed}, exactly`);
    for (const [letters, period] of [
      ['i50i', 50],
      ['i1000i', 1000],
      ['bi1000i', 1000],
    ] as const) {
      const expected = every.filter((_, index) => (index + 1) % period === 0);
      assertSameLines(
        (await linesOf(letters)).join('\n'),
        expected.join('\n'),
        `${name} ${seed}, ${letters}`,
      );
    }
  }
});

test('samples of cycles: their periods are the cycles between them', async (context) => {
  const bytes = await recordingOf({ tsc: true, mtc: true, cyc: true, longTnt: true }, 11);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const sumOf = (text: string, event: string): number => {
    let sum = 0;
    for (const [, period] of text.matchAll(new RegExp(`: +(\\d+) +${event}:u:`, 'g'))) sum += Number(period);
    return sum;
  };
  const { text, diagnostics } = await ours(bytes, 'y1i');
  const isNote = ({ code, path }: { code: string; path: string }) =>
    code === 'itrace-letter' && path === '--itrace y';
  assert.match(diagnostics.find(isNote)?.remedy ?? '', /`--itrace=Ay`/);
  // What perf adds up for instructions, too: nothing is told twice.
  const told = (await ours(bytes, 'i1i', { fields: '+ipc' })).text;
  let cycles = 0;
  for (const [, , count] of told.matchAll(/IPC: [\d.]+ \((\d+)\/(\d+)\)/g)) cycles += Number(count);
  assert.ok(cycles > 1000);
  assert.equal(sumOf(text, 'cycles'), cycles);
  const every = await ours(bytes, 'Ay100i');
  assert.ok(!every.diagnostics.some(isNote));
  assert.ok(sumOf(every.text, 'cycles') >= cycles - 1000);
  assert.doesNotMatch(text, /instructions/);
  const without = await ours((await recordingOf({}, 11))!, 'y1i');
  assert.equal(without.text, '');
  assert.ok(!without.diagnostics.some(isNote));
});

test('a profile of what was executed, with every export behind it', async (context) => {
  const bytes = await recordingOf({ tsc: true }, 7);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const source = memorySource(bytes);
  const { profile, diagnostics } = await ingestPerfData(
    withTrace(await openPerfData(source), { bytes: source, files: disk, options: parseItrace('i100ig') }),
    { symbols: disk },
  );
  const event = profile.events.find(({ name }) => name === 'instructions:u');
  assert.equal(event?.samples, 200);
  assert.equal(event.sumPeriod, 20_000n);
  assert.ok(!diagnostics.some(({ code }) => code === 'trace-not-decoded' || code === 'trace-errors'));
});

test('a recording as it comes through a pipe', { skip: noPerf }, async (context) => {
  const bytes = await recordingOf({ tsc: true }, 7, 20_000, 'pipe');
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const theirs = perf(['script', '-i', '-', '--itrace=i100i'], bytes);
  assert.ok(theirs.stdout.length > 1000, theirs.stderr);
  assertSameLines((await ours(bytes, 'i100i')).text, theirs.stdout, 'pipe');
});

test('statistics count the samples of a trace that is asked for', async (context) => {
  const bytes = await recordingOf({ tsc: true }, 7);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const source = memorySource(bytes);
  const trace = { bytes: source, files: disk, options: parseItrace('i100i') };
  const { events, samples } = await collectStats(withTrace(await openPerfData(source), trace));
  assert.equal(samples, 200);
  assert.deepEqual(
    events.filter(({ samples: count }) => count > 0).map(({ name, sumPeriod }) => [name, sumPeriod]),
    [['instructions:u', '20000']],
  );
  assert.equal((await collectStats(await openPerfData(source))).samples, 0);
});

test('without the files every error is counted and told with what to do; left alone, that is said', async (context) => {
  const bytes = await recordingOf({ tsc: true }, 7);
  if (bytes === null) return context.skip(NO_PROGRAMS);
  const nothing: SymbolDriver = { open: async () => null };
  const { text, diagnostics } = await ours(bytes, 'i1000ie', { files: nothing });
  assert.match(text, / instruction trace error type 1 time .* code 5: Failed to get instruction\n/);
  assert.ok(diagnostics.some(({ code, path }) => code === 'code-not-found' && path.endsWith('libc.so.6')));
  assert.ok(diagnostics.some(({ code, remedy }) => code === 'trace-errors' && remedy !== ''));

  const { diagnostics: notes } = await ingestPerfData(await openPerfData(memorySource(bytes)), {});
  assert.ok(notes.some(({ code }) => code === 'trace-not-decoded'));
});

/** As many as perf 6.1 prints: of the shared corpus, and of fixtures/corpus. */
const BRANCHES = hasSharedCorpus ? 154_370 : 51_239;

test('no branch is lost at a synchronization point', async () => {
  const own = new Map(corpusFiles('pt/own').map((file) => [file.name, file.bytes]));
  const program = own.get('program.elf')!;
  const files: SymbolDriver = {
    open: async ({ path }) => (path === '/program.elf' ? memorySource(program) : null),
  };
  const mappings = [{ path: '/program.elf', address: 0x401000n, sizeBytes: 0x1000, fileOffset: 0x1000 }];
  for (const [name, encoding] of [
    ['base', {}],
    ['tsc', { tsc: true }],
    ['cyc', { tsc: true, mtc: true, cyc: true }],
  ] as const) {
    const recording = ptRecording({
      pid: 4242,
      comm: 'own',
      mappings,
      trace: own.get(`${name}.pt`)!,
      encoding,
    });
    const { text } = await ours(await writePerfData(recording), 'b', { files });
    assert.equal(text.split('\n').length - 1, BRANCHES, name);
  }
});
