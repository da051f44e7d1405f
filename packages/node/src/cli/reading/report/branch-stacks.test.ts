/**
 * Branch stacks as `script` prints them, beside perf: of captures, and of a program that was stepped through.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { corpusUrl, lacksCorpus } from '../../../../../core/src/test/corpus.ts';
import { noPerf, perf } from '../../../../../core/src/test/perf.ts';
import { counterpoint } from '../../../test/command-line.ts';
import {
  branchRecording,
  buildLoops,
  type SteppedProgram,
  stepProgram,
} from '../../../test/stepped-branches.ts';

const folder = mkdtempSync(join(tmpdir(), 'branch-stacks-'));
const recording = join(folder, 'stepped.data');
const EVERY = 37;
let program: SteppedProgram | null = null;

before(() => {
  // Of a dynamic program, perf 6.1 has empty names for most stubs of the linkage table.
  const built = buildLoops(folder, ['-O1', '-g', '-static']);
  program = built === null ? null : stepProgram(folder, [built]);
  if (program !== null) writeFileSync(recording, branchRecording(program, EVERY));
});
after(() => rmSync(folder, { recursive: true }));

const NOT_STEPPED = 'no gcc for x86-64 here, or stepping through programs is not allowed';

/** Stubs have no symbols of their own: perf 6.1 counts those of a static program to the function before. */
const plain = (text: string): string[] =>
  text
    .replaceAll(/[\w*@.+]+@plt\b|\b_init\b/g, 'STUB')
    .replaceAll(/STUB\+(0x)?[0-9a-f]+/g, 'STUB')
    .split('\n');

/** Shows the first lines that differ, of tens of thousands. */
function assertSameLines(ours: readonly string[], theirs: readonly string[], what: string): void {
  const at = theirs.findIndex((line, place) => line !== ours[place]);
  const place = at < 0 ? Math.min(ours.length, theirs.length) : at;
  assert.deepEqual(
    ours.slice(place, place + 3),
    theirs.slice(place, place + 3),
    `${what}, line ${place + 1}`,
  );
}

async function ours(file: string, fields: string): Promise<string> {
  const { status, out, err } = await counterpoint('script', '-i', file, '-F', fields);
  assert.equal(status, 0, err);
  return out;
}

for (const fields of [
  'comm,tid,time,event,ip,sym,brstack',
  'brstacksym',
  'brstacksym,dso',
  'ip,sym,brstackinsn',
  'ip,sym,brstackinsnlen',
  '+brstackinsn',
]) {
  test(`of a program that ran here, -F ${fields} prints perf's lines`, { skip: noPerf }, async (t) => {
    if (program === null) return t.skip(NOT_STEPPED);
    const theirs = perf(['script', '-i', recording, '-F', fields]).stdout;
    assert.ok(theirs.split('\n').length > 100);
    const text = await ours(recording, fields);
    assertSameLines(plain(text), plain(theirs), fields);
  });
}

const CAPTURES = [
  ['branch-4.14', ['brstack', 'brstacksym', 'brstackoff', '+brstack', 'ip,sym,brstackinsn']],
  ['branch_stack_spec', ['brstack', 'brstacksym', 'brstackoff', '+brstack', 'ip,sym,brstackinsn']],
  // perf 6.1 names places of its vdso by that of the machine it runs on.
  ['callgraph_and_branch-3.4', ['brstack', 'ip,brstack']],
] as const;

for (const [name, choices] of CAPTURES) {
  const path = `perfdata/quipper/perf.data.${name}`;
  test(`of the capture ${name}, lines are perf's`, { skip: noPerf || lacksCorpus(path) }, async () => {
    const file = fileURLToPath(corpusUrl(path));
    for (const fields of choices) {
      const theirs = perf(['script', '-G', '-i', file, '-F', fields]).stdout;
      assert.ok(theirs.includes(fields.includes('brstackinsn') ? '\n\n' : '/P/'), fields);
      const { out } = await counterpoint('script', '-G', '-i', file, '-F', fields);
      assertSameLines(out.split('\n'), theirs.split('\n'), fields);
    }
  });
}

test('branches replayed against the disassembly give the path that the program took', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const { path, places } = program;
  const text = await ours(recording, 'ip,brstackinsn');
  const samples = text.trimEnd().split('\n\n');
  assert.equal(samples.length, Math.floor((program.branches.length - 1) / EVERY));
  samples.forEach((sample, number) => {
    const addresses = [...sample.matchAll(/^\t([0-9a-f]{16})\t/gm)].map(([, address]) =>
      BigInt(`0x${address}`),
    );
    const newest = (number + 1) * EVERY;
    const first = places[newest - 31]! - 1;
    // A repeated string instruction is one line, and one step each time; in a block it does not branch.
    const expected = [...path.subarray(first, first + 10_000)].filter(
      (address, at, all) => at === 0 || address !== all[at - 1] || isBranchAt(first + at),
    );
    assert.deepEqual(addresses, expected.slice(0, addresses.length), `sample ${number}`);
    assert.ok(addresses.length >= 31);
    // The last line is where the sample was, or an instruction before a branch that was not taken.
    const [, ip] = /^ *([0-9a-f]+)/.exec(sample)!;
    const isAtSample = addresses.at(-1) === BigInt(`0x${ip}`);
    assert.ok(isAtSample || sample.includes('... not reaching sample ...'), `sample ${number}`);
  });
  function isBranchAt(place: number): boolean {
    return places.includes(place);
  }
});

test('JSON has every part of a branch, and where several are chosen none twice', async (t) => {
  if (program === null) return t.skip(NOT_STEPPED);
  const { out } = await counterpoint('script', '-i', recording, '--json', '--limit', '1');
  const [first] = out.split('\n');
  const [branch] = JSON.parse(first!).branches;
  const last = program.branches[EVERY]!;
  assert.deepEqual(
    { ...branch, cycles: 0, mispredicted: null },
    {
      from: `0x${last.from.toString(16)}`,
      to: `0x${last.to.toString(16)}`,
      mispredicted: null,
      inTransaction: false,
      abort: false,
      cycles: 0,
      type: 'COND',
      speculation: null,
      privilege: null,
    },
  );
});
