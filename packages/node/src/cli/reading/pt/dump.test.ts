import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP,
  PACKET_TNT8,
  PACKET_TSC,
  PacketWriter,
  PT_IP_SEXT_48,
} from '@counterpoint/trace/intel-pt';
import { corpusUrl, lacksCorpus } from '../../../../../core/src/test/corpus.ts';
import { Output } from '../../common/output.ts';
import { runCommandLine } from '../../main.ts';

const SUITE = fileURLToPath(corpusUrl('pt/suite/'));
const folder = mkdtempSync(join(tmpdir(), 'pt-dump-'));
after(() => rmSync(folder, { recursive: true }));

async function run(...words: string[]) {
  const sink = () => ({
    text: '',
    isTerminal: false,
    columns: () => 0,
    write(text: string) {
      this.text += text;
    },
  });
  const out = sink();
  const err = sink();
  const status = await runCommandLine(['pt', ...words], new Output(out), new Output(err));
  return { status, out: out.text, err: err.text };
}

/** psb, psbend, a branch, an address, a bad byte, psb, tsc. */
function smallTrace(): string {
  const writer = new PacketWriter();
  writer.put(PACKET_PSB);
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 2, lo: 2 });
  writer.put(PACKET_TIP, { type: PT_IP_SEXT_48, lo: 0x1000, hi: 0 });
  const head = writer.bytes().slice();
  const tail = new PacketWriter();
  tail.put(PACKET_PSB);
  tail.put(PACKET_TSC, { lo: 0x10 });
  const path = join(folder, 'small.pt');
  writeFileSync(path, Uint8Array.from([...head, 0x39, ...tail.bytes()]));
  return path;
}

test('a dump with all columns, and with an error that it gets over', async () => {
  const path = smallTrace();
  const { status, out, err } = await run('dump', '--lastip', '--raw', '--time', path);
  assert.deepEqual([status, err], [0, '']);
  assert.equal(
    out,
    [
      '0000000000000000  02820282028202820282028202820282  psb',
      '0000000000000010  0223                              psbend',
      '0000000000000012  0c                                tnt.8      !.',
      '0000000000000013  6d001000000000                    tip        3: 0000000000001000       ip   0000000000001000',
      '[1a: error decoding packet: unknown opcode]',
      '000000000000001b  02820282028202820282028202820282  psb',
      '000000000000002b  1910000000000000                  tsc        10                        tsc  0000000000000010',
      '',
    ].join('\n'),
  );
  const part = await run('dump', '--no-sync', '--no-offset', `${path}:0x12-19`);
  assert.equal(part.out, 'tnt.8      !.\n');
});

test('--json gives an object a line', async () => {
  const { out } = await run('dump', '--json', smallTrace());
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines[2], { type: 'packet', offset: 0x12, size: 1, name: 'tnt.8', payload: '!.' });
  assert.equal(lines[4].type, 'error');
  assert.deepEqual(lines.at(-1), { type: 'end', packets: 6, errors: 1, skippedBytes: 1 });
});

test('what cannot be done is said: no file, bad numbers, a part outside of the file, an unknown processor', async () => {
  const path = smallTrace();
  assert.equal((await run('dump')).status, 129);
  assert.equal((await run('dump', path, path)).status, 129);
  assert.equal((await run('dump', '--time', '--tcal', path)).status, 129);
  assert.equal((await run('dump', '--mtc-freq', '16', path)).status, 129);
  assert.equal((await run('dump', '--cpu', 'skylake', path)).status, 129);
  assert.equal((await run('dump', `${path}:5-5`)).status, 129);
  assert.equal((await run('dump', `${path}:5-5000`)).status, 1);
  assert.equal((await run('dump', join(folder, 'absent.pt'))).status, 1);
  assert.match(
    (await run('dump', '--cpu', '0/0', path)).out,
    /^\[0: failed to determine errata: unknown cpu\]\n/,
  );
});

test('packets without a synchronization point: only --no-sync shows them, and then nothing is wrong', async () => {
  const packets = join(folder, 'packets.pt');
  writeFileSync(packets, Uint8Array.of(0x06, 0x06));
  const { status, out, err } = await run('dump', packets);
  assert.deepEqual([status, out], [1, '']);
  assert.match(err, /no synchronization point/);
  const whole = await run('dump', '--no-sync', packets);
  assert.deepEqual([whole.status, whole.err], [0, '']);
  assert.match(whole.out, /tnt.*\n.*tnt/);
});

test('`pt` alone names its verbs', async () => {
  const { status, out, err } = await run();
  assert.deepEqual([status, out], [129, '']);
  assert.match(err, /pt dump/);
  assert.match((await run('--help')).out, /pt dump/);
  assert.equal((await run('dmup', 'x')).status, 129);
});

const skip = lacksCorpus('pt/suite/');

test("every dump of libipt's test programs, with its options", { skip }, async () => {
  const squeeze = (line: string) => line.trim().replace(/\s+/g, ' ');
  let cases = 0;
  for (const name of readdirSync(SUITE).filter((name) => existsSync(join(SUITE, name, 'manifest.json')))) {
    const manifest = JSON.parse(readFileSync(join(SUITE, name, 'manifest.json'), 'utf8'));
    for (const suiteCase of manifest.cases) {
      if (suiteCase.tool !== 'ptdump') continue;
      const words: string[] = [...suiteCase.options];
      if (suiteCase.cpu !== null) words.push('--cpu', suiteCase.cpu);
      for (const { stored, priority, params } of suiteCase.sideband) {
        for (const [key, value] of Object.entries(params)) words.push(`--pevent:${key}`, String(value));
        words.push(`--pevent:${priority}`, join(SUITE, name, stored));
      }
      const { status, out, err } = await run('dump', ...words, join(SUITE, name, suiteCase.pt));
      assert.deepEqual([status, err], [suiteCase.rc, suiteCase.stderr], name);
      assert.deepEqual(
        out.trimEnd().split('\n').map(squeeze),
        suiteCase.expected,
        `${name} ${words.join(' ')}`,
      );
      cases++;
    }
  }
  assert.ok(cases > 200, `${cases} cases`);
});
