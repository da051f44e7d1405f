import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { EVENT_KINDS, parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from '../../../linux/kernel/local-pmus/index.ts';
import { loadLibPfm } from '../../../linux/kernel/sys/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { Output } from '../../common/output.ts';
import { listEvents } from './events.ts';

interface Listed {
  name: string;
  aliases: string[];
  kind: string;
  description: string | null;
  unit: string | null;
  availability: { state: string; why: string };
}

async function listJson(...words: string[]): Promise<Listed[]> {
  const { out, status } = await counterpoint('list', '--json', ...words);
  const answer = JSON.parse(out);
  assert.deepEqual([answer.type, answer.version, status], ['event-list', 1, 0]);
  return answer.events;
}

test('everything that is listed can be asked for', async () => {
  const lookup = systemEventLookup();
  const events = await listJson();
  const kinds = new Set(events.map(({ kind }) => kind));
  for (const kind of ['hardware', 'software', 'cache', 'tool', 'form']) assert.ok(kinds.has(kind), kind);
  for (const { name, aliases, kind } of events) {
    if (kind === 'form') continue;
    for (const text of [name, ...aliases]) assert.ok(parseEvents(text, lookup).length > 0, text);
  }
});

test('every generic event has a description, and what cannot be counted a reason', async () => {
  for (const { name, kind, description, availability } of await listJson('hw', 'sw', 'cache', 'tool')) {
    assert.ok(description !== null && description.length > 8, name);
    assert.equal(availability.state === 'available', availability.why === '', name);
    if (kind === 'tool') assert.equal(availability.state, 'available');
  }
});

test('kinds choose, patterns search names, aliases and descriptions', async () => {
  const names = async (...words: string[]) => (await listJson(...words)).map(({ name }) => name);
  assert.deepEqual(await names('sw', 'fault'), [
    'page-faults',
    'minor-faults',
    'major-faults',
    'alignment-faults',
    'emulation-faults',
  ]);
  assert.deepEqual(await names('sw', '*clock'), ['cpu-clock', 'task-clock']);
  assert.deepEqual(await names('hw', 'CPU-cycles'), ['cycles']);
  assert.ok((await names('hw', 'prediction')).includes('branch-misses'));
  assert.equal((await names('cache')).length, 2 * (3 + 2 + 3 + 3 + 1 + 1 + 3));
  assert.ok((await names('raw')).includes('rNNN'));
});

test('nothing found is a failure that names what is near', async () => {
  const { status, out, err } = await counterpoint('list', 'hw', 'cylces');
  assert.deepEqual([status, out], [1, '']);
  assert.match(err, /^no event matches cylces; did you mean cycles\?\n$/);
});

test('nothing found is the same failure as JSON; a kind without events says so', async () => {
  const { status, out } = await counterpoint('list', '--json', 'hw', 'cylces');
  assert.equal(status, 1);
  assert.deepEqual(JSON.parse(out).events, []);
  const tables = await counterpoint('list', 'table');
  assert.deepEqual([tables.status, tables.out], [1, '']);
  assert.match(tables.err, /none is loaded\n {2}.*--event-tables PATH/);
});

test('sections with marks; without descriptions only names', async () => {
  const { out, status } = await counterpoint('list', 'hw', 'sw');
  assert.equal(status, 0);
  assert.match(out, /^Hardware events \(hw\)\n/);
  assert.match(out, /\n\nSoftware events \(sw\)\n/);
  assert.match(out, /\n {2}context-switches OR cs +times that a CPU went over/);
  const [cycles] = await listJson('hw', 'cycles');
  if (cycles!.availability.state === 'absent')
    assert.match(out, /\n {2}cycles OR cpu-cycles +\[not supported\]/);
  const bare = await counterpoint('list', '--no-desc', 'sw');
  assert.match(bare.out, /\n {2}context-switches OR cs\n/);
});

const root = mkdtempSync(join(tmpdir(), 'counterpoint-list-'));
after(() => rmSync(root, { recursive: true }));

test('another machine: PMUs with units, terms and forms; tracefs that is not there', () => {
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  const pmu = 'bus/event_source/devices/uncore_imc_0';
  put(`${pmu}/type`, '24');
  put(`${pmu}/format/event`, 'config:0-7');
  put(`${pmu}/events/cas_count_read`, 'event=0x4');
  put(`${pmu}/events/cas_count_read.unit`, 'MiB');
  let text = '';
  const collect = () =>
    new Output({ isTerminal: false, columns: () => 0, write: (piece) => void (text += String(piece)) }, {});
  const [out, err] = [collect(), collect()];
  const options = { json: false, withDescriptions: true, verbose: true };
  const lookup = systemEventLookup(root, join(root, 'nowhere'));
  assert.equal(listEvents(['pmu', 'raw', 'tracepoint'], options, out, err, lookup), 0);
  out.flush();
  err.flush();
  assert.match(text, /uncore_imc_0\/cas_count_read\/ +\[MiB\]\n +event=0x4\n/);
  assert.match(text, /uncore_imc_0\/event=…\/ +terms: event \(config:0-7\)/);
  assert.match(text, /Tracepoints \(tracepoint\): .* not mounted at .*\n {2}Mount it: sudo mount/);
  assert.ok(!text.includes('uprobe:'));
  assert.equal(listEvents(['cas_*'], options, out, err, lookup), 0);
  assert.equal(listEvents(['tracepoint', 'x'], options, out, err, lookup), 1);
});

test('generic events and tracepoints are those of perf list', { skip: perfIsMissing() }, async () => {
  const theirs: string[] = [];
  // perf first: as root, it mounts tracefs where nobody has.
  const text = perf('list', '--no-desc');
  const ours = new Set((await listJson()).flatMap(({ name, aliases }) => [name, ...aliases]));
  for (const line of text.split('\n')) {
    const match =
      /^ {2}(\S.*?) +\[(?:Hardware event|Software event|Hardware cache event|Tool event|Tracepoint event)\]$/.exec(
        line,
      );
    if (match !== null) theirs.push(...match[1]!.split(' OR '));
  }
  assert.ok(theirs.length > 10, `perf lists ${theirs.length}`);
  // Probes come and go: others make them, and so do we while an event on one is open.
  assert.deepEqual(
    theirs.filter((name) => !ours.has(name) && !/^(?:probe|sdt|counterpoint_)/.test(name)),
    [],
  );
});

test('--raw-dump: the names of perf list --raw-dump, on one line', { skip: perfIsMissing() }, async () => {
  const namesOf = (text: string) => text.split(' ').filter((name) => name !== '');
  const isLasting = (name: string) => !/^(?:probe|sdt|counterpoint_)/.test(name);
  for (const words of [[], ['sw'], ['hw'], ['sched:*']]) {
    const { out, status } = await counterpoint('list', '--raw-dump', ...words);
    const theirs = namesOf(perf('list', '--raw-dump', ...words));
    assert.equal(status, 0);
    assert.match(out, /^[^\n]*\n$/);
    assert.deepEqual(
      namesOf(out.trim()).filter(isLasting).sort(),
      theirs.filter(isLasting).sort(),
      words.join(),
    );
  }
  const wrong = await counterpoint('list', '--raw-dump', '--json');
  assert.equal(wrong.status, 129);
});

test('-o writes the list into a file', async (t) => {
  const path = join(temporaryFolder(t), 'list.txt');
  const { out, status } = await counterpoint('list', '-o', path, 'sw');
  assert.deepEqual([out, status], ['', 0]);
  assert.equal(readFileSync(path, 'utf8'), (await counterpoint('list', '-o', '-', 'sw')).out);
  const refused = await counterpoint('list', '-o', '/no/such/folder/list.txt', 'sw');
  assert.notEqual(refused.status, 0);
  assert.match(refused.err, /\/no\/such\/folder/);
});

test('kinds are documented', async () => {
  const { out } = await counterpoint('list', '--help');
  for (const word of ['hw', 'sw', 'cache', 'tool', 'pmu', 'table', 'tracepoint', 'raw', '--pfm', '--json'])
    assert.ok(out.includes(word), word);
  assert.equal(EVENT_KINDS.length, 8);
});

const hasLibPfm = loadLibPfm() !== null && process.arch === 'x64';

describe('--pfm', { skip: hasLibPfm ? false : 'libpfm4 with the tables of x86 is not installed' }, () => {
  test('PMUs, events of one, one event with its masks', async () => {
    const pmus = JSON.parse((await counterpoint('list', '--pfm', '--json')).out).pmus;
    assert.ok(pmus.length > 100 && pmus.some(({ name }: { name: string }) => name === 'skx'));
    assert.match((await counterpoint('list', '--pfm')).out, /^PMU +HERE +COUNTERS +DESCRIPTION\n/);
    const events = JSON.parse((await counterpoint('list', '--pfm', '--json', 'skx::L2_*')).out).events;
    assert.ok(events.length > 2 && events.every(({ name }: { name: string }) => name.startsWith('skx::L2_')));
    const { out } = await counterpoint('list', '--pfm', 'skx::l2_rqsts');
    assert.match(out, /^skx::L2_RQSTS .*\n(?:.*\n)* {2}:MISS +\[mask\] /);
    const none = await counterpoint('list', '--pfm', 'skz');
    assert.deepEqual([none.status, none.err.includes('did you mean')], [1, true]);
  });

  test('encodings of another CPU, also where perf has none', async () => {
    const words = ['--encode', 'skx::L2_RQSTS:MISS', '--encode', 'skx_unc_imc0::UNC_M_CAS_COUNT:RD'];
    const { out } = await counterpoint('list', '--pfm', '--json', ...words);
    const [core, uncore] = JSON.parse(out).events;
    assert.deepEqual([core.perf.type, core.perf.config, core.codes], [4, '0x3f24', ['0x533f24']]);
    assert.deepEqual([uncore.perf, uncore.codes], [null, ['0x304']]);
    assert.match(
      (await counterpoint('list', '--pfm', ...words)).out,
      /has no form for it\n {2}hardware {3}0x304/,
    );
    const wrong = await counterpoint('list', '--pfm', '--encode', 'skx::L2_RQSTS:MIS');
    assert.equal(wrong.status, 129);
    assert.match(wrong.err, /\\___ L2_RQSTS has no attribute MIS; did you mean MISS\?/);
    assert.equal((await counterpoint('list', '--encode', 'cycles')).status, 129);
  });
});
