/**
 * `npm run test:pt`: for a machine with Intel PT. Five programs are recorded by us and by perf, both
 * recordings are decoded by both, and a report is printed to be sent: what the PT of the machine can
 * do, and what was equal. It takes some minutes, and needs perf, gzip, sqlite3 and python3; what is
 * missing is left out and said.
 *
 *   npm run build && npm run test:pt                 as root, or with kernel.perf_event_paranoid at most 1
 *   npm run test:pt -- soft_pt//u                    the same steps on any x86-64 machine, as far as perf can follow
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const EVENT = process.argv[2] ?? 'intel_pt//u';
const IS_HARDWARE = EVENT.startsWith('intel_pt');
const COUNTERPOINT = fileURLToPath(new URL('../../packages/node/bin/counterpoint.js', import.meta.url));
const INTEL_PT = '/sys/bus/event_source/devices/intel_pt';
const TIMEOUT_MS = 240_000;
const MOST_OUTPUT = 1 << 29;

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  true: ['true'],
  ls: ['ls', '/'],
  gzip: ['gzip', '-c', '/etc/services'],
  sqlite3: ['sqlite3', ':memory:', 'select 1'],
  python3: ['python3', '-S', '-c', 'pass'],
};

interface Run {
  status: number | null;
  out: string;
  err: string;
}

const folder = mkdtempSync(join(tmpdir(), 'test-pt-'));
let failures = 0;

function run(words: readonly string[]): Run {
  const { status, stdout, stderr } = spawnSync(words[0]!, words.slice(1), {
    encoding: 'utf8',
    maxBuffer: MOST_OUTPUT,
    timeout: TIMEOUT_MS,
  });
  return { status, out: stdout ?? '', err: stderr ?? '' };
}

const ours = (...words: string[]) => run([process.execPath, COUNTERPOINT, ...words]);
const theirs = (...words: string[]) => run(['perf', ...words]);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function check(what: string, isRight: boolean, found = ''): void {
  if (!isRight) failures++;
  say(`  ${isRight ? 'ok    ' : 'FAILED'} ${what}${found === '' ? '' : `: ${found}`}`);
}

/** Addresses of instructions, and how many places could not be decoded. */
function decoded(tool: (...words: string[]) => Run, path: string): { ips: string[]; errors: number } {
  const { out } = tool('script', '-i', path, '--itrace=i1ie', '-F', 'ip');
  const lines = out.split('\n').map((line) => line.trim());
  return {
    ips: lines.filter((line) => /^[0-9a-f]+$/.test(line)),
    errors: lines.filter((line) => line.includes('error')).length,
  };
}

function recordedBoth(name: string, command: readonly string[]): void {
  say(`\n${name}: ${command.join(' ')}`);
  const mine = join(folder, `${name}.ours`);
  const record = ours('record', '-e', EVENT, '-o', mine, '--', ...command);
  check('we record it', record.status === 0, record.status === 0 ? '' : record.err.trim());
  if (record.status !== 0) return;
  for (const line of record.err.split('\n').filter((one) => /lost|trace data|buffer/.test(one)))
    say(`         ${line}`);
  const [a, b] = [decoded(ours, mine), decoded(theirs, mine)];
  say(
    `         ${statSync(mine).size} bytes; ${a.ips.length} instructions and ${a.errors} errors by us, ${b.ips.length} and ${b.errors} by perf`,
  );
  const differs = a.ips.findIndex((ip, at) => ip !== b.ips[at]);
  check(
    'perf decodes our file to the same instructions',
    a.ips.length > 0 && a.ips.length === b.ips.length && differs < 0,
    differs < 0 ? '' : `instruction ${differs}`,
  );
  check('as many errors', a.errors === b.errors);
  if (!IS_HARDWARE) return;
  const perfs = join(folder, `${name}.perf`);
  const other = theirs('record', '-e', EVENT, '-o', perfs, '--', ...command);
  check('perf records it', other.status === 0, other.status === 0 ? '' : other.err.trim());
  if (other.status !== 0) return;
  const [c, d] = [decoded(ours, perfs), decoded(theirs, perfs)];
  say(
    `         perf's recording: ${c.ips.length} instructions and ${c.errors} errors by us, ${d.ips.length} and ${d.errors} by perf`,
  );
  check(
    'we decode its file to the same',
    c.ips.length === d.ips.length && c.ips.every((ip, at) => ip === d.ips[at]),
  );
  const ratio = a.ips.length / Math.max(1, d.ips.length);
  check('both recordings have about as many instructions', ratio > 0.9 && ratio < 1.1, ratio.toFixed(3));
}

/** What only hardware shows: areas that are full, snapshots, filters, samples of the trace. */
function modes(): void {
  say('\nareas, snapshots, filters, samples');
  const busy = ['gzip', '-c', process.execPath];
  const small = join(folder, 'small');
  const full = ours('record', '-e', EVENT, '-m', ',8K', '-o', small, '--', ...busy);
  check(
    'an area of 8 KiB is full, and it is said',
    full.status === 0 && /trace data/.test(full.err),
    full.err.trim(),
  );
  const [a, b] = [decoded(ours, small), decoded(theirs, small)];
  check(
    'what is there decodes as by perf',
    a.ips.length === b.ips.length,
    `${a.ips.length} and ${b.ips.length}`,
  );
  const snapshot = join(folder, 'snapshot');
  const taken = ours('record', '-e', EVENT, '-Se64K', '-o', snapshot, '--', ...busy);
  const of = decoded(ours, snapshot).ips.length;
  check(
    'a snapshot of the end',
    taken.status === 0 && of > 0 && of === decoded(theirs, snapshot).ips.length,
    `${of}`,
  );
  const filtered = join(folder, 'filter');
  const filter = ours(
    'record',
    '-e',
    EVENT,
    '--filter',
    `filter * @ ${process.execPath}`,
    '-o',
    filtered,
    '--',
    ...busy,
  );
  check('an address filter is taken', filter.status === 0, filter.err.trim());
  const sampled = join(folder, 'sampled');
  const samples = ours(
    'record',
    '-e',
    `{${EVENT},branch-misses:u}`,
    '--aux-sample',
    '-o',
    sampled,
    '--',
    ...busy,
  );
  check('samples with a part of the trace', samples.status === 0, samples.err.trim());
  const parts = [decoded(ours, sampled).ips.length, decoded(theirs, sampled).ips.length];
  check('they decode as by perf', parts[0] === parts[1], parts.join(' and '));
}

function facts(): void {
  say(
    `kernel ${release()}, ${theirs('--version').out.trim()}, ${ours('--version').out.trim()}, node ${process.version}`,
  );
  say(/^model name\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'processor not known');
  if (!existsSync(INTEL_PT)) {
    say(/^Intel PT.*\n.*$/m.exec(ours('doctor').out)?.[0] ?? 'no Intel PT');
    return;
  }
  for (const name of ['max_nonturbo_ratio', 'tsc_art_ratio', 'nr_addr_filters'])
    say(`${name} ${textOf(name)}`);
  for (const group of ['caps', 'format'])
    say(
      `${group}: ${readdirSync(join(INTEL_PT, group))
        .map((name) => `${name}=${textOf(`${group}/${name}`)}`)
        .join(' ')}`,
    );
}

function textOf(name: string): string {
  try {
    return readFileSync(join(INTEL_PT, name), 'utf8').trim();
  } catch {
    return '-';
  }
}

try {
  say(`Report of npm run test:pt, ${EVENT}`);
  facts();
  if (IS_HARDWARE && !existsSync(INTEL_PT)) {
    say('This machine has no Intel PT. The same steps with soft_pt: npm run test:pt -- soft_pt//u');
    process.exitCode = 2;
  } else {
    for (const [name, command] of Object.entries(PROGRAMS)) {
      if (spawnSync('sh', ['-c', `command -v ${command[0]}`]).status === 0) recordedBoth(name, command);
      else say(`\n${name}: not installed`);
    }
    if (IS_HARDWARE) modes();
    say(failures === 0 ? '\nAll is as it should be.' : `\n${failures} checks failed.`);
    process.exitCode = failures === 0 ? 0 : 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
