import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { printableJson } from '@counterpoint/core/base';
import { EXPORTS } from '@counterpoint/core/export';
import { writePerfData } from '@counterpoint/core/perfdata';
import { ATTR, comm, mmap2, sample } from '../../../core/src/test/recordings.ts';
import { counterpoint } from '../test/command-line.ts';
import { noTracepoints } from '../test/rights.ts';

/**
 * Names that a terminal would obey: a title, a colour, a clear screen by a C1
 * control, text that runs backwards.
 */
const EVIL = 'e\x1b]0;owned\x07v\x1b[31mi\u009b2Jl\u202eb\u2066a\x7fd';
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-names-'));
after(() => rmSync(folder, { recursive: true }));
const place = join(folder, EVIL);
mkdirSync(place);
const recording = join(place, 'perf.data');
writeFileSync(
  recording,
  writePerfData({
    attrs: [{ attr: ATTR, ids: [1n], name: EVIL }],
    records: [
      comm(10, EVIL.slice(0, 15)),
      mmap2(10, 0x1000n, 0x1000n, `/opt/${EVIL}/${EVIL}`),
      ...[1n, 2n, 3n].map((time) => sample({ time, chain: [0x1100n, 0x1200n] })),
    ],
    features: { hostname: EVIL, osRelease: EVIL, commandLine: [EVIL] },
  }),
);

/** A table of what is typed: names in every place that is printed. */
const LINES: readonly (readonly string[])[] = [
  ['report'],
  ['report', '-g'],
  ['report', '--json'],
  ['report', '--stats'],
  ['report', '--header'],
  ['report', '--symbols', EVIL],
  ['report', '--comms', EVIL],
  ['report', '--sort', EVIL],
  ['report', '--time', EVIL],
  ['report', `--${EVIL}`],
  ['report', '-i', `${place}/none`],
  ['report', '-i', place],
  ['report', '--kcore', EVIL, '--itrace=i'],
  ['script'],
  ['script', '--json'],
  ['script', '-F', EVIL],
  ['export', '-o', `${place}/x.${EVIL}`],
  ['export', '-o', `${place}/none/x.svg`],
  ['export', '--event', EVIL, '-o', '-', '-f', 'folded'],
  ...EXPORTS.filter(({ isBinary }) => !isBinary).map(({ name }) => ['export', '-f', name, '-o', '-']),
  ['record', '-e', EVIL, 'true'],
  ['record', `${place}/none`],
  ['record', '--format', EVIL, 'true'],
  ['record', '--format', `${place}/none.ts`, 'true'],
  ['stat', '-e', EVIL, 'true'],
  ['stat', '--control', EVIL, 'true'],
  ['stat', '--control-data', `${place}/none`, 'true'],
  ['stat', '-o', `${place}/none/out`, 'true'],
  ['stat', `${place}/none`],
  ['list', EVIL],
  ['list', '--event-tables', `${place}/none`],
  ['pt', EVIL],
  ['pt', 'dump', recording],
  ['pt', 'dump', `${place}/none`],
  [EVIL],
  [`-${EVIL}`],
];

for (const words of LINES)
  test(`nothing that a terminal obeys comes out of ${printableJson(words).slice(0, 60)}`, async () => {
    const takesInput = ['report', 'script', 'export'].includes(words[0]!) && !words.includes('-i');
    const { out, err } = await counterpoint(...words, ...(takesInput ? ['-i', recording] : []));
    for (const text of [out, err]) {
      const at = OBEYED.exec(text)?.index ?? -1;
      assert.equal(at, -1, JSON.stringify(text.slice(Math.max(0, at - 100), at + 20)));
    }
    assert.ok(out !== '' || err !== '', 'nothing was printed');
  });

test('a line break in the path of a probe makes no second row', { skip: cannotProbe() }, async () => {
  const program = join(folder, 'a\nb');
  copyFileSync('/bin/true', program);
  const words = ['-e', `uprobe:${program}:0x${entryOf(program).toString(16)}`, '--', 'true'];
  const table = await counterpoint('stat', ...words);
  assert.match(table.out + table.err, /^ +0 +uprobe:\S*\/a\\x0ab:0x/m);
  const fields = await counterpoint('stat', '-x', ',', ...words);
  assert.match(fields.out + fields.err, /^0,,uprobe:\S*\/a\\x0ab:0x\w+,\d+,100\.00,,\n$/);
  const json = await counterpoint('stat', '--json', ...words);
  const { rows } = JSON.parse(json.out + json.err);
  assert.match(rows[0].event, /a\nb/);
  const empty = await counterpoint('record', '-o', join(folder, 'empty.data'), ...words);
  assert.match(empty.err, /EMPTY: .*a\\x0ab:0x\w+ never reached/);
  const wrong = await counterpoint('stat', '-e', `uprobe:${program}:0x1`, '--', 'true');
  assert.match(wrong.err, /a\\x0ab has no code at 0x1$/m);
});

function cannotProbe(): string | false {
  return noTracepoints;
}

/**
 * Where a program of 64 bits begins, as an offset in its file: that of a
 * position-independent one is so where its code is.
 */
function entryOf(program: string): bigint {
  return readFileSync(program).readBigUInt64LE(24);
}

test('exports are the same in a file and on standard output, without anything that a terminal obeys', async () => {
  for (const { name, isBinary } of EXPORTS) {
    const path = join(place, `as.${name}`);
    const { status, err } = await counterpoint('export', '-f', name, '-o', path, '-i', recording);
    assert.equal(status, 0, err);
    if (isBinary) continue;
    const text = readFileSync(path, 'utf8');
    assert.ok(text.includes('owned'), `${name} does not name it`);
    assert.equal(OBEYED.exec(text)?.index, undefined, name);
    const { out } = await counterpoint('export', '-f', name, '-o', '-', '-i', recording);
    // The time of writing is in some.
    assert.equal(out.length, text.length, name);
  }
  assert.ok(readdirSync(place).length >= EXPORTS.length);
});
