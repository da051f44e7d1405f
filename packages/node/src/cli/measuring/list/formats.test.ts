import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  builtInFormats,
  describeFormat,
  type FormatDescription,
} from '../../../linux/sample/formats/index.ts';
import { counterpoint } from '../../../test/command-line.ts';

const TUTORIAL = new URL('../../../../../../docs/sampling-formats.md', import.meta.url);

test('list formats: each with its options, as text and as JSON', async () => {
  const { status, out } = await counterpoint('list', 'formats');
  assert.equal(status, 0);
  for (const name of builtInFormats) assert.match(out, new RegExp(`^${name}:[ \\n]`, 'm'));
  assert.match(out, /^ {4}max-entries=N +room for N buckets [^\n]*\n {26}[^\n]*32768\)$/m);
  assert.ok(
    out.split('\n').every((line) => line.length <= 80),
    'as wide as help is',
  );
  assert.match(out, /^ {4}ring=SIZE +room for records, a power of two \(default 1M\)$/m);
  const json = await counterpoint('list', '--json', 'formats', 'histogram');
  const answer = JSON.parse(json.out) as { type: string; version: number; formats: FormatDescription[] };
  assert.deepEqual([answer.type, answer.version], ['format-list', 1]);
  const [histogram] = answer.formats;
  const { help, ...first } = histogram!.options[0]!;
  assert.match(help, /buckets/);
  assert.deepEqual(first, {
    name: 'max-entries',
    type: 'count',
    form: 'max-entries=N',
    default: 32768,
    defaultText: '32768',
    min: 1,
    max: 1 << 24,
    choices: null,
  });
});

test('record --format NAME,help, of a file, too; nothing is recorded', async () => {
  const example = new URL('../../../../../../examples/formats/threshold.ts', import.meta.url).pathname;
  const { status, out } = await counterpoint('record', '--format', `${example},help`, '--', 'false');
  assert.equal(status, 0);
  assert.match(out, /^threshold \(.*threshold\.ts\):[ \n]/);
  assert.match(out, /^ {4}ring=SIZE +room for samples in the kernel, a power of two\n {26}\(default 1M\)$/m);
  assert.equal((await counterpoint('record', '--format', 'histgram,help')).status, 1);
  // It is found by its path alone: what to do is said without its name.
  const wrong = await counterpoint('record', '--format', `${example},ring=many`, '--', 'false');
  assert.match(wrong.err, /the option ring of the format threshold is .*, not many/);
  assert.match(wrong.err, /room for samples in the kernel, a power of two\. Without it, it is /);
  assert.doesNotMatch(wrong.err, /list formats threshold/);
});

/** As it stands in the tutorial. */
async function tableRows(): Promise<string[]> {
  const rows: string[] = [];
  for (const name of builtInFormats)
    for (const { form, help, defaultText } of (await describeFormat(name)).options)
      rows.push(
        `| \`${name}\` | \`${form.replaceAll('|', '\\|')}\` | ${defaultText} | ${help.replaceAll('\n', ' ')} |`,
      );
  return rows;
}

test('the tutorial has the options of all formats', async () => {
  const text = readFileSync(TUTORIAL, 'utf8');
  const found = text.split('\n').filter((line) => /^\| `[a-z-]+` +\| `[a-z-]+[=`]/.test(line));
  const spaceless = (lines: readonly string[]) => lines.map((line) => line.replaceAll(/ +/g, ' '));
  assert.deepEqual(spaceless(found), spaceless(await tableRows()));
});
