import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CodeImage } from '@counterpoint/trace/image';
import {
  ExecutionEncoder,
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP_PGD,
  PACKET_TNT8,
  PacketWriter,
  PT_IP_SEXT_48,
  PT_MODE_EXEC_CS_L,
  RandomWalk,
} from '@counterpoint/trace/intel-pt';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'pt-profile-'));
after(() => rmSync(folder, { recursive: true }));

/** At 0x1000, a: call b; jne a; ret. b: jne +2; nop; nop; ret. */
const CALLS = Uint8Array.of(0xe8, 3, 0, 0, 0, 0x75, 0xf9, 0xc3, 0x75, 2, 0x90, 0x90, 0xc3);

/** At 0x1000: l: nop; jne l; ret. The loop goes round ten times, then the trace goes off with the return. */
function loop(): { trace: string; code: string } {
  const writer = new PacketWriter();
  writer.put(PACKET_PSB);
  writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
  writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x1000, hi: 0 });
  writer.put(PACKET_PSBEND);
  writer.put(PACKET_TNT8, { type: 6, lo: 0b111111 });
  writer.put(PACKET_TNT8, { type: 4, lo: 0b1110 });
  writer.put(PACKET_TIP_PGD, { type: 0 });
  const trace = join(folder, 'loop.pt');
  const code = join(folder, 'loop.bin');
  writeFileSync(trace, writer.bytes());
  writeFileSync(code, Uint8Array.of(0x90, 0x75, 0xfd, 0xc3));
  return { trace, code };
}

test('`-` is standard input, from a file and from a pipe', () => {
  const { trace, code } = loop();
  const words = [...commandLineProcess(), 'pt', 'profile', '--json', '--raw', `${code}:0x1000`, '-'];
  const command = [process.execPath, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  for (const line of [`${command} <"$0"`, `cat "$0" | ${command}`]) {
    const { stdout, stderr } = spawnSync('sh', ['-c', line, trace], { encoding: 'utf8' });
    assert.equal(stderr, '');
    assert.equal(JSON.parse(stdout).instructions, '21');
  }
});

test('counts and hot places, as text and as JSON, by the fast decoder and by the exact one', async () => {
  const { trace, code } = loop();
  const text = await counterpoint('pt', 'profile', '--raw', `${code}:0x1000`, trace);
  assert.equal(text.status, 0);
  assert.equal(
    text.out,
    [
      '21  instructions',
      '11  blocks',
      '11  branches',
      ' 0  calls',
      '',
      '   share  executed      instructions  from',
      '  95.24%  10            2             0x1000',
      '   4.76%  1             1             0x1003',
      '',
    ].join('\n'),
  );
  for (const way of [[], ['--exact-only'], ['--workers', '1'], ['--workers', '2']]) {
    const { out } = await counterpoint(
      'pt',
      'profile',
      '--json',
      '--hash',
      ...way,
      '--raw',
      `${code}:0x1000`,
      trace,
    );
    const { addressHash, ...answer } = JSON.parse(out);
    assert.match(addressHash, /^0x[0-9a-f]{8}$/);
    assert.deepEqual(answer, {
      type: 'pt-profile',
      version: 1,
      instructions: '21',
      blocks: '11',
      branches: '11',
      calls: '0',
      errors: [],
      overflows: 0,
    });
  }
});

test('what is no trace, and code that is not known, are said', async () => {
  const { trace } = loop();
  const empty = join(folder, 'no.pt');
  writeFileSync(empty, 'this is no trace');
  const noSync = await counterpoint('pt', 'profile', '--json', empty);
  assert.deepEqual(JSON.parse(noSync.out).errors, [{ code: 'no-sync', count: 1, firstOffset: 0 }]);
  assert.match(noSync.err, /no synchronization point/);
  assert.equal(noSync.status, 1);
  const junk = await counterpoint('pt', 'profile', empty);
  assert.deepEqual([junk.out, junk.status], ['', 1]);
  const onlyPsb = join(folder, 'psb.pt');
  writeFileSync(onlyPsb, Buffer.from('0282'.repeat(8), 'hex'));
  const cut = await counterpoint('pt', 'profile', '--json', onlyPsb);
  assert.match(cut.err, /there are synchronization points .* cut off/);
  const huge = join(folder, 'huge.pt');
  writeFileSync(huge, '');
  truncateSync(huge, 5 * 2 ** 30);
  const whole = await counterpoint('pt', 'dump', huge);
  assert.match(whole.err, /too many to read at once[\s\S]*FILE:FROM-TO/);
  assert.equal(whole.status, 1);
  const noMap = await counterpoint('pt', 'profile', '--json', trace);
  assert.deepEqual(
    JSON.parse(noMap.out).errors.map(({ code }: { code: string }) => code),
    ['no-map'],
  );
  assert.match(noMap.err, /--raw or --elf/);
  assert.equal(noMap.status, 1);
  const asText = await counterpoint('pt', 'profile', trace);
  assert.match(asText.out, /^ *\d+ {2}no memory mapped at this address \(no-map\), first at offset 0x/m);
  const calls = await counterpoint('pt', 'calls', trace);
  assert.match(calls.err, /\d+ errors?: no memory mapped at this address \(no-map\), the first at offset/);
});

test('code that is elsewhere: nothing was decoded, and that is said', async () => {
  const { trace, code } = loop();
  const { err, out, status } = await counterpoint(
    'pt',
    'profile',
    '--json',
    '--raw',
    `${code}:0x900000`,
    trace,
  );
  assert.equal(JSON.parse(out).instructions, '0');
  assert.match(err, /no address of the trace is in the given code/);
  assert.equal(status, 1);
});

test('-o: all instructions as folded stacks; code without symbols is one function', async () => {
  const { trace, code } = loop();
  const words = ['pt', 'profile', '--raw', `${code}:0x1000`, '-o', '-'];
  const { out, status } = await counterpoint(...words, '--format', 'folded', trace);
  assert.equal(status, 0);
  assert.match(out, /^[^\n]* 21\n$/);
  assert.equal((await counterpoint(...words, trace)).status, 129);
});

test('a trace from a pipe is decoded as from a file; a part of it, too', async (context) => {
  const { trace, code } = loop();
  const pipe = join(folder, 'pipe');
  if (spawnSync('mkfifo', [pipe]).status !== 0) return context.skip('no mkfifo here');
  const size = readFileSync(trace).length;
  const words = ['pt', 'profile', '--raw', `${code}:0x1000`, '--json', '--hash', trace];
  const fromFile = JSON.parse((await counterpoint(...words)).out).addressHash;
  for (const part of ['', `:0-${size}`]) {
    const writer = spawn('sh', ['-c', 'exec cat "$0" > "$1"', trace, pipe]);
    const { out, err } = await counterpoint(
      'pt',
      'profile',
      '--raw',
      `${code}:0x1000`,
      '--json',
      '--hash',
      pipe + part,
    );
    assert.equal(err, '');
    const { instructions, addressHash } = JSON.parse(out);
    assert.deepEqual([instructions, addressHash], ['21', fromFile]);
    writer.kill();
  }
});

test('a perf.data file is not decoded in silence, though a trace is somewhere in it', async () => {
  const { trace } = loop();
  const recording = join(folder, 'perf.data');
  writeFileSync(recording, Buffer.concat([Buffer.from('PERFILE2'), readFileSync(trace)]));
  for (const verb of ['profile', 'calls', 'flow', 'dump']) {
    const { status, err } = await counterpoint('pt', verb, recording);
    assert.match(
      err,
      /this is a perf.data file, and pt reads raw traces only.*report or script with --itrace.*nothing to decode: record one with -e intel_pt/,
      verb,
    );
    assert.equal(status, 1, verb);
  }
  {
    const { status, out, err } = await counterpoint('pt', 'profile', '--coarse', recording);
    assert.deepEqual([status, out], [1, '']);
    assert.match(err, /this is a perf.data file/);
  }
});

test('--top is read before a long trace is', async () => {
  const { status, err } = await counterpoint('pt', 'profile', '--json', '--top', 'x', loop().trace);
  assert.equal(status, 129);
  assert.match(err, /^[^\n]*--top expects/);
});

test('--coarse: where branches went, without code and without decoding', async () => {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: CALLS });
  const path = new RandomWalk({ seed: 4, entries: Int32Array.of(0x1000, 0, 0x1008, 0) });
  const encoder = new ExecutionEncoder(image, path, { hash: false, returnCompression: false });
  const trace = join(folder, 'coarse.pt');
  writeFileSync(trace, Buffer.concat([...encoder.chunks({ bytes: 50_000 })]));
  const text = await counterpoint('pt', 'profile', '--coarse', trace);
  assert.deepEqual([text.status, text.err], [0, '']);
  // Short: all of it is looked at.
  assert.match(text.out, /^12 samples, .* targets of branches that need a packet, in 48\.8 KB of 48\.8 KB/);
  assert.match(text.out, /^ +\d+\.\d\d% +\d+ +[\d,]+ {2}0x1005$/m);
  const json = JSON.parse((await counterpoint('pt', 'profile', '--coarse', '--json', trace)).out);
  const { length } = readFileSync(trace);
  assert.deepEqual([json.type, json.readBytes, json.totalBytes], ['pt-coarse', length, length]);
  assert.equal(json.samples, '12');
  const sum = json.targets.reduce((total: number, { count }: { count: string }) => total + Number(count), 0);
  assert.equal(sum, Number(json.count));
  const other = await counterpoint('pt', 'profile', '--coarse', '--hash', trace);
  assert.match(other.err, /--coarse does not decode, so --hash/);
  assert.equal(other.status, 129);
  const none = join(folder, 'none.pt');
  writeFileSync(none, 'this is no trace');
  assert.equal((await counterpoint('pt', 'profile', '--coarse', none)).status, 1);
});

test('half an address range is refused, not left out', async () => {
  const { trace, code } = loop();
  const profile = (...words: string[]) =>
    counterpoint('pt', 'profile', '--raw', `${code}:0x1000`, ...words, trace);
  const ends = ['--filter:addr0_a', '0x1000', '--filter:addr0_b', '0x1fff'];
  const noUse = await profile(...ends);
  assert.equal(noUse.status, 129);
  assert.match(noUse.err, /the address range 0 is incomplete: --filter:addr0_cfg is missing/);
  assert.match((await profile('--filter:addr1_cfg', '1')).err, /addr1_a and --filter:addr1_b are missing/);
  assert.equal((await profile(...ends, '--filter:addr0_cfg', '1')).status, 0);
  assert.equal((await profile('--filter:addr0_cfg', '0')).status, 0);
});
