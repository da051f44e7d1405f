/**
 * What is read runs on every system, without the library that calls the kernel;
 * what records says what it needs.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-anywhere-'));
const installed = join(folder, 'node_modules/counterpoint');
const program = join(installed, 'bin/counterpoint.js');
const recording = join(root, 'fixtures/perfdata/call-chains.data');
const trace = join(folder, 'trace.pt');
/** PSB and PSBEND: an Intel PT trace in which nothing happens. */
const EMPTY_TRACE = Uint8Array.from([...Array(8).fill([0x02, 0x82]).flat(), 0x02, 0x23]);

/** Installed without the optional dependency: nothing else of this checkout is in sight. */
before(() => {
  mkdirSync(installed, { recursive: true });
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(root, 'packages/node', name), join(installed, name), { recursive: true });
  writeFileSync(trace, EMPTY_TRACE);
});
after(() => rmSync(folder, { recursive: true }));

const pretend = (platform: string) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})`,
];

interface Ran {
  status: number | null;
  out: string;
  err: string;
}

function run(command: readonly string[]): Ran {
  const [file, ...words] = command as [string, ...string[]];
  const { status, stdout, stderr } = spawnSync(file, words, { cwd: folder, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

const asHere = new Map<string, Ran>();

/** A command that reads, on this system: run once, however many are compared with it. */
function here(words: readonly string[]): Ran {
  const key = words.join(' ');
  const ran = asHere.get(key) ?? run([process.execPath, program, ...words]);
  asHere.set(key, ran);
  return ran;
}

const READING: readonly (readonly string[])[] = [
  ['report', '-i', recording],
  ['diff', recording, recording],
  ['report', '--stats', '--json', '-i', recording],
  ['script', '-i', recording],
  ['export', '-i', recording, '-o', 'flame.svg'],
  ['export', '-i', recording, '-f', 'folded', '-o', '-'],
  ['pt', 'dump', trace],
  ['pt', 'flow', '--stat', '--raw', `${program}:0`, trace],
  ['list', 'formats'],
  ['list', '--json', 'formats', 'histogram'],
  ['help', 'record'],
  ['record', '--help'],
];
const RECORDING: readonly (readonly string[])[] = [
  ['record', '--', 'true'],
  ['stat', '--', 'true'],
  ['stat', 'record', '--', 'true'],
  ['top', '-a'],
  ['off-cpu', '--', 'true'],
  ['list'],
  ['doctor'],
];

describe('with the library that calls the kernel not installed', () => {
  for (const words of READING)
    test(`counterpoint ${words[0]} ${words[1]} …`, () => {
      const { status, out, err } = here(words);
      assert.equal(status, 0, err);
      assert.ok(out.length > 0 || words.includes('-o'));
    });

  test('what records says what is missing and how to get it', { skip: process.platform !== 'linux' }, () => {
    const { status, err } = run([process.execPath, program, 'record', '--', 'true']);
    assert.equal(status, 1);
    assert.match(
      err,
      /\(koffi\) is not installed; reading recordings works without it\n.*--include=optional/,
    );
  });

  test('annotate without the disassembler says what is missing', {
    skip: process.platform !== 'linux',
  }, (t) => {
    const own = join(root, 'packages/node/bin/counterpoint.js');
    const data = join(folder, 'busy.data');
    const busy = 'while (process.cpuUsage().user < 5e5) JSON.parse(JSON.stringify([1, 2]));';
    const options = ['-q', '-e', 'cpu-clock:u', '-F', '1000', '-o', data];
    const recorded = run([process.execPath, own, 'record', ...options, '--', process.execPath, '-e', busy]);
    if (recorded.status !== 0) {
      t.skip(`nothing can be recorded here: ${recorded.err.split('\n')[0]}`);
      return;
    }
    const words = ['annotate', '-i', data, '--limit', '1', '-d', 'node'];
    assert.equal(run([process.execPath, own, ...words]).status, 0);
    const { status, err } = run([process.execPath, program, ...words]);
    assert.equal(status, 1);
    assert.match(err, /the disassembler \(@alexaltea\/capstone-js\) is not installed\n.*--include=optional/);
  });

  test('a library that is there and does not load is another sentence', (t) => {
    const broken = join(folder, 'node_modules/koffi');
    mkdirSync(broken, { recursive: true });
    t.after(() => rmSync(broken, { recursive: true }));
    writeFileSync(join(broken, 'package.json'), '{"name":"koffi","main":"index.js"}');
    writeFileSync(join(broken, 'index.js'), "throw new Error('GLIBC_9.99 not found\\nin a file');");
    const { status, err } = run([process.execPath, program, 'record', '--', 'true']);
    assert.equal(status, 1);
    assert.match(err, /\(koffi\) cannot be loaded: GLIBC_9\.99 not found; .*\n.*npm rebuild koffi/);
  });
});

for (const platform of ['darwin', 'win32', 'freebsd'])
  describe(`on ${platform}`, () => {
    const node = [process.execPath, ...pretend(platform), program];
    for (const words of READING)
      test(`counterpoint ${words[0]} ${words[1]} …: as on Linux`, () => {
        const { status, out, err } = run([...node, ...words]);
        assert.equal(status, 0, err);
        assert.equal(out, here(words).out);
      });

    for (const words of RECORDING)
      test(`counterpoint ${words.join(' ')}: says what it needs`, () => {
        const { status, out, err } = run([...node, ...words]);
        assert.deepEqual([status, out], [1, '']);
        const verb = words[1] === 'record' ? 'stat record' : words[0];
        const [first] = err.split('\n');
        assert.ok(first!.includes(`counterpoint: ${verb} needs Linux`) && first!.includes(platform), err);
        assert.match(
          err,
          /report, annotate, diff, script, evlist, buildid-list, export, convert, stat report and pt work here/,
        );
      });

    test('the library says it, too, and reads', () => {
      const script = `
        const { record, countRun, openRecording } = await import(${JSON.stringify(join(installed, 'dist/index.js'))});
        const said = async (call) => { try { await call(); } catch (error) { return error.code; } };
        console.log(await said(() => record({ command: ['true'] })), await said(() => countRun({ command: ['true'], events: 'faults' })));
        const recording = await openRecording(${JSON.stringify(recording)});
        console.log((await recording.stats()).samples > 0);
        await recording.close();`;
      const { status, out, err } = run([
        process.execPath,
        ...pretend(platform),
        '--input-type=module',
        '-e',
        script,
      ]);
      assert.equal(status, 0, err);
      assert.equal(out, 'ERR_NOT_LINUX ERR_NOT_LINUX\ntrue\n');
    });
  });

const noMounts = spawnSync('unshare', ['--mount', 'umount', '-l', '/proc']).status !== 0;

describe('without /proc and /sys', { skip: noMounts && 'needs root: unshare --mount' }, () => {
  for (const words of READING)
    test(`counterpoint ${words[0]} ${words[1]} …`, () => {
      const hidden = 'umount -l /sys; umount -l /proc && exec "$@"';
      const { status, out, err } = run([
        'unshare',
        '--mount',
        'sh',
        '-c',
        hidden,
        'sh',
        process.execPath,
        program,
        ...words,
      ]);
      assert.equal(status, 0, err);
      assert.equal(out, here(words).out);
    });
});

test('nothing of the package is marked for one system, and the library is optional', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'packages/node/package.json'), 'utf8'));
  assert.deepEqual(
    Object.keys(manifest).filter((key) => key === 'os' || key === 'cpu'),
    [],
  );
  assert.ok('koffi' in manifest.optionalDependencies && !('koffi' in manifest.dependencies));
  assert.ok(readdirSync(join(installed, 'bin')).includes('counterpoint.js'));
});
