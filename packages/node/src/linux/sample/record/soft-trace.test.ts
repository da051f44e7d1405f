/** Traces of what was stepped, decoded by perf and by us, against a stepper in C. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memorySource } from '@counterpoint/core/base';
import { type AuxIndexEntry, openPerfData } from '@counterpoint/core/perfdata';
import { noAssembler } from '../../../test/assembled-program.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { steppedLoops } from '../../../test/stepped-loops.ts';
import type { LaunchOptions } from '../../kernel/target/index.ts';
import type { RecordResult } from './options.ts';
import { record } from './record.ts';

const options = { skip: noAssembler || perfIsMissing(), timeout: 300_000 };
const QUIET: LaunchOptions = { stdio: ['ignore', 'ignore', 'inherit'] };
const SOURCE = fileURLToPath(new URL('../../../test/stepped-program.c', import.meta.url));
/** Every instruction is a sample, and every error a line. */
const EACH = ['--itrace=i1ie', '--ns'];

/** Addresses of each thread's instructions, as perf decodes them. All lines must be as ours. */
async function instructionsOf(path: string, fields = 'tid,time,ip'): Promise<Map<number, bigint[]>> {
  const words = ['-i', path, ...EACH, '-F', fields];
  const theirs = perf('script', ...words);
  const ours = await counterpoint('script', ...words);
  assert.equal(ours.status, 0, ours.err);
  assert.doesNotMatch(theirs, /error/);
  assertSameLines(ours.out, theirs);
  const threads = new Map<number, bigint[]>();
  for (const [, tid, ip] of theirs.matchAll(/^ *(\d+) .*?([0-9a-f]+) *$/gm)) {
    const addresses = threads.get(Number(tid)) ?? [];
    threads.set(Number(tid), addresses);
    addresses.push(BigInt(`0x${ip}`));
  }
  return threads;
}

/** How many packets of each name are in the traces, as perf reads them. */
function packetCounts(path: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, name] of perf('script', '-D', '-i', path).matchAll(
    /^\. {2}[0-9a-f]{8}: (?: [0-9a-f]{2})+ +(\S+)/gm,
  ))
    counts.set(name!, (counts.get(name!) ?? 0) + 1);
  return counts;
}

function assertSameLines(ours: string, theirs: string): void {
  const expected = theirs.split('\n');
  const found = ours.split('\n');
  const row = expected.findIndex((line, at) => found[at]?.trim() !== line.trim());
  assert.equal(found[row]?.trim(), expected[row]?.trim(), `line ${row + 1}`);
  assert.equal(found.length, expected.length);
}

test('each instruction of a program, in its order, with all terms of the event', options, async (t) => {
  const { program, stepped, isOwn } = steppedLoops(t);
  const own = [...stepped.path].filter(isOwn);
  assert.ok(own.length > 5000, `${own.length}`);
  const packets = new Map<string, Map<string, number>>();
  for (const terms of ['', 'noretcomp', 'tsc=0', 'psb_period=5', 'noretcomp,tsc=0']) {
    const output = join(temporaryFolder(t), 'perf.data');
    const events = `soft_pt/${terms}/u`;
    const result = await record({ command: [program], events, output, launch: QUIET });
    assert.deepEqual(result.loss, []);
    // Perf prints no times where nothing in the trace tells them.
    const fields = terms.includes('tsc=0') ? 'tid,ip' : 'tid,time,ip';
    const [found = [], ...others] = (await instructionsOf(output, fields)).values();
    assert.equal(others.length, 0);
    assert.equal(found.length, result.soft!.instructions, terms);
    assert.deepEqual(found.filter(isOwn), own, terms);
    packets.set(terms, packetCounts(output));
  }
  // What a term leaves out is not there, and what it adds is. Bytes say less: a slower run has more times.
  const count = (terms: string, name: string) => packets.get(terms)!.get(name) ?? 0;
  assert.ok(count('', 'TSC') > 100);
  assert.equal(count('tsc=0', 'TSC'), 0);
  assert.equal(count('noretcomp,tsc=0', 'TSC'), 0);
  // Each return has a target of its own.
  assert.ok(count('noretcomp', 'TIP') > 2 * count('', 'TIP'));
  assert.ok(count('noretcomp,tsc=0', 'TIP') > 2 * count('tsc=0', 'TIP'));
  assert.ok(count('', 'PSB') > 2 * count('psb_period=5', 'PSB'));
});

test(
  'records of the kernel stand among what is decoded at their times, as in perf script',
  options,
  async (t) => {
    const { program } = steppedLoops(t);
    const output = join(temporaryFolder(t), 'perf.data');
    await record({ command: [program], events: 'soft_pt//u,page-faults', period: 1, output, launch: QUIET });
    for (const itrace of ['i1ie', 'i0nsbwxpe', 'i100i', 'i10us', 'cr', 'b']) {
      const words = ['-i', output, `--itrace=${itrace}`, '--ns', '-F', 'tid,time,event,ip'];
      const theirs = perf('script', ...words);
      assert.match(theirs, /page-faults/);
      assertSameLines((await counterpoint('script', ...words)).out, theirs);
      const times = [...theirs.matchAll(/(\d+)\.(\d{9}):/g)].map(([, s, ns]) => BigInt(s! + ns!));
      assert.ok(times.length > 100, itrace);
      assert.ok(
        times.every((time, row) => row === 0 || time >= times[row - 1]!),
        itrace,
      );
    }
  },
);

test(
  'the index of a file says where its traces are, as perf counts and reads them; a stream has none',
  options,
  async (t) => {
    const { program } = steppedLoops(t);
    const folder = temporaryFolder(t);
    const output = join(folder, 'perf.data');
    await record({ command: [program], events: 'soft_pt//u', softWay: 'fast', output, launch: QUIET });
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(output))));
    const index = reader.features.auxIndex!;
    const theirs = [
      ...perf('script', '-D', '-i', output).matchAll(
        /^.*? (0x[0-9a-f]+) \[(0x[0-9a-f]+)\]: PERF_RECORD_AUXTRACE size/gm,
      ),
    ];
    assert.deepEqual(
      index.map(({ offset, size }) => [offset, size]),
      theirs.map(([, offset, size]) => [BigInt(offset!), BigInt(size!)]),
    );
    assert.ok(index.length > 0);
    // With it perf has the trace from the file's header; a wrong one it does not take.
    const wrong = join(folder, 'wrong.data');
    const bytes = readFileSync(output);
    const at = bytes.lastIndexOf(indexBytes(index));
    assert.ok(at > 0);
    bytes.writeBigUInt64LE(index[0]!.size + 8n, at + 16);
    writeFileSync(wrong, bytes);
    const refused = spawnSync('perf', ['script', '-i', wrong, '--itrace=i1ie'], { encoding: 'utf8' });
    assert.notEqual(refused.status, 0);
    assert.notEqual((await instructionsOf(output)).size, 0);
    const [pipe, copied] = [join(folder, 'pipe'), join(folder, 'copied.data')];
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    const copy = spawn('dd', [`if=${pipe}`, `of=${copied}`, 'status=none']);
    const copyEnd = once(copy, 'exit');
    await record({ command: [program], events: 'soft_pt//u', softWay: 'fast', output: pipe, launch: QUIET });
    assert.equal((await copyEnd)[0], 0);
    const streamed = await openPerfData(memorySource(new Uint8Array(readFileSync(copied))));
    assert.ok(streamed.isPipe);
    assert.equal(streamed.features.auxIndex, undefined);
  },
);

/** As HEADER_AUXTRACE has it. */
function indexBytes(index: readonly AuxIndexEntry[]): Buffer {
  const bytes = Buffer.alloc(8 + 16 * index.length);
  bytes.writeBigUInt64LE(BigInt(index.length));
  for (const [at, { offset, size }] of index.entries()) {
    bytes.writeBigUInt64LE(offset, 8 + 16 * at);
    bytes.writeBigUInt64LE(size, 16 + 16 * at);
  }
  return bytes;
}

test('samples and a trace of the same steps are the same instructions', options, async (t) => {
  const { program } = steppedLoops(t);
  const output = join(temporaryFolder(t), 'perf.data');
  const events = 'soft_pt//u,soft/instructions,period=1/';
  const { soft, samples } = await record({ command: [program], events, output, launch: QUIET });
  assert.equal(samples, soft!.instructions);
  const lines = (await counterpoint('script', '-i', output, '--itrace=i1ie', '-F', 'event,ip')).out;
  const [sampled, traced]: string[][] = [[], []];
  for (const [, event, ip] of lines.matchAll(/(\S+): +([0-9a-f]+)$/gm))
    (event!.startsWith('soft/') ? sampled : traced)!.push(ip!);
  assert.equal(traced!.length, soft!.instructions);
  assert.deepEqual(traced, sampled);
});

async function traceRun(t: TestContext, mode: string): Promise<{ result: RecordResult; byThread: number[] }> {
  const folder = temporaryFolder(t);
  const [program, output, path] = ['program', 'perf.data', 'out'].map((name) => join(folder, name));
  const built = spawnSync('gcc', ['-O1', '-static', '-o', program!, SOURCE], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  const alone = spawnSync(program!, [mode], { encoding: 'utf8' });
  const out = openSync(path!, 'w');
  const result = await record({
    command: [program!, mode],
    events: 'soft_pt//u',
    output: output!,
    launch: { stdio: ['ignore', out, 'inherit'] },
  });
  closeSync(out);
  assert.equal(readFileSync(path!, 'utf8'), alone.stdout);
  assert.equal(result.exitCode, alone.status);
  assert.equal(result.exitSignal, alone.signal);
  const byThread = [...(await instructionsOf(output!)).values()].map(({ length }) => length);
  assert.equal(
    byThread.reduce((sum, one) => sum + one, 0),
    result.soft!.instructions,
  );
  assert.equal(byThread.length, result.soft!.threads);
  return { result, byThread };
}

test('a hundred threads have a trace each, and the program does not notice', options, async (t) => {
  const { byThread } = await traceRun(t, 'threads');
  assert.equal(byThread.length, 101);
});

test('fork, vfork, and exec are followed', options, async (t) => {
  const { byThread } = await traceRun(t, 'family');
  assert.equal(byThread.length, 3);
});

test('what a trace cannot have is refused before anything runs', options, async () => {
  for (const [events, message] of [
    ['soft_pt//u,soft_pt/tsc=0/u', /second trace/],
    ['{soft_pt//u,cpu-clock}', /group/],
  ] as const)
    await assert.rejects(record({ command: ['true'], events, output: '/dev/null' }), {
      code: 'ERR_SOFT_EVENT',
      message,
    });
});
