import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP_PGD,
  PACKET_TNT8,
  PacketWriter,
  PT_IP_SEXT_48,
  PT_MODE_EXEC_CS_L,
} from '@counterpoint/trace/intel-pt';
import { corpusUrl, lacksCorpus } from '../../../../../core/src/test/corpus.ts';
import { Output } from '../../common/output.ts';
import { runCommandLine } from '../../main.ts';

const SUITE = fileURLToPath(corpusUrl('pt/suite/'));
const folder = mkdtempSync(join(tmpdir(), 'pt-flow-'));
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
  const status = await runCommandLine(['pt', 'flow', ...words], new Output(out), new Output(err));
  return { status, out: out.text, err: err.text };
}

/** At 0x1000: jne 0x1003; nop; ret. The branch is taken, and there the code ends for the trace. */
function smallTrace(): { trace: string; code: string } {
  const writer = new PacketWriter();
  writer.put(PACKET_PSB);
  writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
  writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x1000, hi: 0 });
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 1, lo: 1 });
  writer.put(PACKET_TIP_PGD, { type: 0 });
  const trace = join(folder, 'small.pt');
  const code = join(folder, 'small.bin');
  writeFileSync(trace, writer.bytes());
  writeFileSync(code, Uint8Array.of(0x75, 0x01, 0x90, 0xc3));
  return { trace, code };
}

test('instructions, events and counts, as text and as JSON', async () => {
  const { trace, code } = smallTrace();
  const text = await run(
    '--raw',
    `${code}:0x1000`,
    '--stat',
    '--block-decoder',
    '--block:show-blocks',
    trace,
  );
  assert.deepEqual(
    [text.status, text.out, text.err],
    [0, '[block 1]\n0000000000001000\n[block 2]\n0000000000001003\n[disabled]\ninsn: 2.\nblocks:\t2.\n', ''],
  );
  const { out } = await run('--json', '--raw', `${code}:0x1000`, trace);
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines[0], { type: 'instruction', ip: '0x1000' });
  assert.equal(lines[2].text, 'disabled');
  assert.deepEqual(lines[3], {
    type: 'end',
    version: 1,
    instructions: '2',
    // Those that were printed: where decoding began is none.
    events: 1,
    overflows: 0,
    errors: [],
  });
});

test('code that is not there is an error with its place, and its count', async () => {
  const { trace, code } = smallTrace();
  const text = await run('--raw', `${code}:0-2:0x1000`, trace);
  assert.equal(text.out, '0000000000001000\n[1d, 1003: error: no memory mapped at this address]\n');
  const { out } = await run('--json', trace);
  const end = JSON.parse(out.trimEnd().split('\n').at(-1)!);
  assert.deepEqual(end.errors, [{ code: 'no-map', count: 1, firstOffset: 0x1c }]);
});

test('what cannot be done is said', async () => {
  const { trace, code } = smallTrace();
  assert.equal((await run()).status, 129);
  assert.equal((await run(trace, trace)).status, 129);
  assert.equal((await run('--raw', code, trace)).status, 129);
  assert.equal((await run('--raw', `${code}:9:0x1000`, trace)).status, 129);
  const noElf = await run('--elf', code, trace);
  assert.equal(noElf.status, 1);
  assert.ok(noElf.err.includes(code), noElf.err);
  assert.match((await run(folder)).err, /is a directory/);
  assert.match((await run('--raw', `${code}:0x1000`, code)).err, /no synchronization point/);
  const junk = await run('--json', '--raw', `${code}:0x1000`, code);
  assert.deepEqual(JSON.parse(junk.out).errors, [{ code: 'no-sync', count: 1, firstOffset: 0 }]);
  const turned = ['--filter:addr0_cfg', '1', '--filter:addr0_a', '9', '--filter:addr0_b', '8'];
  assert.equal((await run(...turned, trace)).status, 129);
  assert.equal((await run('--filter:addr0_cfg', '3', trace)).status, 129);
  assert.equal((await run(join(folder, 'absent.pt'))).status, 1);
  assert.match((await run('--cpu', '0/0', trace)).out, /^\[0, 0: config error: unknown cpu\]\n/);
});

const skip = lacksCorpus('pt/suite/');
const squeeze = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '');

test("every flow of libipt's test programs, with its options and records", { skip }, async () => {
  const home = process.cwd();
  let cases = 0;
  for (const name of readdirSync(SUITE).filter((one) => existsSync(join(SUITE, one, 'manifest.json')))) {
    const manifest = JSON.parse(readFileSync(join(SUITE, name, 'manifest.json'), 'utf8'));
    const place = mkdtempSync(join(folder, 'case-'));
    copyFileSync(join(SUITE, name, 'trace.pt'), join(place, 'trace.pt'));
    copyFileSync(join(SUITE, name, 'image.bin'), join(place, `${name}.bin`));
    process.chdir(place);
    try {
      for (const one of manifest.cases) {
        if (one.tool !== 'ptxed') continue;
        const words = ['--raw', `${name}.bin:${manifest.load_address}`, ...one.options];
        if (one.cpu !== null) words.push('--cpu', one.cpu);
        for (const { file, stored, priority, params } of one.sideband) {
          copyFileSync(join(SUITE, name, stored), join(place, file));
          for (const [key, value] of Object.entries(params)) words.push(`--pevent:${key}`, String(value));
          words.push(`--pevent:${priority}`, file);
        }
        const { status, out, err } = await run(...words, 'trace.pt');
        assert.deepEqual([status, err], [0, ''], name);
        const expected = squeeze(readFileSync(join(SUITE, name, one.expected_file), 'utf8'));
        assert.deepEqual(squeeze(out), expected, `${name} ${words.join(' ')}`);
        cases++;
      }
    } finally {
      process.chdir(home);
    }
  }
  assert.ok(cases > 190, `${cases} cases`);
});
