/**
 * `npm run test:perf`: perf's own tests of Linux 6.1, with our command in perf's place. They are read out of
 * Debian's linux-source-6.1 (140 MB) each time, and not kept. Says how many of each kind ran; without the
 * package nothing runs, and it says why.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../node_modules/.bin/counterpoint', import.meta.url));
const PACKAGE = 'linux-source-6.1';
const TESTS = `${PACKAGE}/tools/perf/tests`;
const SHELL_TESTS = ['record', 'pipe_test', 'stat+csv_output', 'stat+json_output', 'record+zstd_comp_decomp'];
const SHELL_TIMEOUT_MS = 300_000;

/** Those that are known to fail, and why. One that passes has no business here. */
const KNOWN: readonly [pattern: RegExp, why: string][] = [
  [/^test-record-group(?:-sampling|2)$/, 'children are recorded where the kernel can (Linux 6.13)'],
  [/^test-record-C0$/, 'perf 6.1.192 itself opens its dummy with the period 1'],
  [
    /^test-record-branch-filter-(?:hv|k|u)$/,
    'perf 6.1 forgets the levels of -j where no kind of branch is given; here -j k is any branch in the kernel',
  ],
  [
    /^test-record-graph-dwarf$/,
    'perf samples addresses of data with copies of stacks, which nothing here reads',
  ],
];

interface Outcome {
  name: string;
  result: 'passed' | 'failed' | 'skipped';
  why: string;
}

/** Sections of an INI file, each with its keys. */
function sectionsOf(path: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let current = new Map<string, string>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const head = /^\[(.*)\]$/.exec(line.trim());
    if (head !== null) {
      current = new Map();
      sections.set(head[1]!, current);
      continue;
    }
    const pair = /^(\w+)\s*=\s*(.*)$/.exec(line.trim());
    if (pair !== null) current.set(pair[1]!, pair[2]!);
  }
  return sections;
}

type Opened = Readonly<Record<string, unknown>> & {
  attr: Readonly<Record<string, number | string>>;
  groupLeader: number | null;
  cpu: number;
  flags: number;
};

/** Of the machine, of the run, or not of the attr. */
const LEFT_OUT: ReadonlySet<string> = new Set(['fd', 'size', 'pid', 'optional']);

const SAMPLE_ID = 1 << 6;
const SAMPLE_IDENTIFIER = 1 << 16;

/**
 * Of several events, our samples name theirs by IDENTIFIER in any case; perf's do by ID where all samples
 * have the same form.
 */
function asPerfNames(sampleType: number): number {
  return (sampleType & SAMPLE_IDENTIFIER) === 0 ? sampleType : (sampleType & ~SAMPLE_IDENTIFIER) | SAMPLE_ID;
}

/** What differs, or null: an event as perf expects it, and one as it would be opened. */
function difference(
  expected: ReadonlyMap<string, string>,
  { attr, groupLeader, cpu, flags }: Opened,
): string | null {
  for (const [name, wanted] of expected) {
    if (LEFT_OUT.has(name) || wanted === '*') continue;
    if (name === 'group_fd') {
      if ((wanted === '-1') !== (groupLeader === null)) return `group_fd ${wanted}`;
      continue;
    }
    const rate = attr['sample_freq'] ?? attr['sample_period'] ?? 0;
    const own =
      name === 'cpu'
        ? cpu
        : name === 'flags'
          ? flags
          : /^sample_(?:freq|period)$/.test(name)
            ? rate
            : attr[name];
    const value = name === 'sample_type' ? asPerfNames(Number(own ?? 0)) : Number(own ?? 0);
    const namesEvent = (one: string) => (name === 'sample_type' ? asPerfNames(Number(one)) : Number(one));
    if (!wanted.split('|').some((one) => namesEvent(one) === value))
      return `${name} is ${value}, not ${wanted}`;
  }
  return null;
}

function attrTest(folder: string, name: string): Outcome {
  const sections = sectionsOf(join(folder, name));
  const config = sections.get('config')!;
  const arch = config.get('arch');
  const machine = process.arch === 'x64' ? 'x86_64' : 'aarch64';
  if (
    arch !== undefined &&
    (arch.startsWith('!') ? arch.slice(1).split(',').includes(machine) : !arch.split(',').includes(machine))
  )
    return { name, result: 'skipped', why: `is for ${arch}` };
  const words = config.get('args')!.replace(/>.*$/, '');
  const line = `"${COMMAND}" ${config.get('command')} --plan --json ${words}`;
  const { stdout, stderr, status } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
  if (status !== 0) {
    const why = stderr.split('\n')[0]!;
    return { name, result: /libpfm/.test(why) ? 'skipped' : 'failed', why };
  }
  const { opens } = JSON.parse(stdout) as { opens: Opened[] };
  for (const [section, own] of sections) {
    if (!section.startsWith('event')) continue;
    const base = section.split(':')[1];
    const inherited = base === undefined ? [] : (sectionsOf(join(folder, base)).get('event') ?? []);
    const expected = new Map([...inherited, ...own]);
    const differences = opens.map((open) => difference(expected, open));
    if (differences.includes(null) || expected.get('optional') === '1') continue;
    return { name, result: 'failed', why: `${section}: ${differences.join(' / ') || 'nothing is opened'}` };
  }
  return { name, result: 'passed', why: '' };
}

/** A script of perf's: 0 passed, 2 skipped. */
function shellTest(folder: string, name: string, path: string): Outcome {
  const env = { ...process.env, PATH: `${path}:${process.env['PATH']}` };
  const { status, stdout, stderr } = spawnSync('bash', [join(folder, `${name}.sh`)], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: SHELL_TIMEOUT_MS,
  });
  const said = `${stdout}\n${stderr}`.trim().split('\n');
  const why = said.find((line) => /skip|fail|cannot/i.test(line)) ?? said.at(-1) ?? '';
  return { name, result: status === 0 ? 'passed' : status === 2 ? 'skipped' : 'failed', why };
}

/** The folder of perf's tests, or why there is none. */
function fetchTests(folder: string): string | { absent: string } {
  const got = spawnSync('apt-get', ['download', PACKAGE], { cwd: folder, encoding: 'utf8' });
  const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
  if (file === undefined) return { absent: got.stderr?.trim().split('\n').pop() ?? String(got.error) };
  const inner = `./usr/src/${PACKAGE}.tar.xz`;
  const unpack = `dpkg-deb --fsys-tarfile '${file}' | tar -xO ${inner} | tar -xJ '${TESTS}'`;
  spawnSync('sh', ['-c', unpack], { cwd: folder });
  const tests = join(folder, TESTS);
  return existsSync(tests) ? tests : { absent: `${file} has no ${TESTS}` };
}

function tell(kind: string, outcomes: readonly Outcome[]): boolean {
  let isAsKnown = true;
  for (const { name, result, why } of outcomes) {
    const known = KNOWN.find(([pattern]) => pattern.test(name));
    const isSurprise =
      (result === 'failed' && known === undefined) || (result === 'passed' && known !== undefined);
    if (isSurprise) isAsKnown = false;
    const reason = result === 'failed' && known !== undefined ? `known: ${known[1]}` : why;
    if (result !== 'passed' || isSurprise)
      console.log(`  ${result}  ${name}: ${reason}${isSurprise ? '  (NOT AS KNOWN)' : ''}`);
  }
  const count = (result: Outcome['result']) => outcomes.filter((one) => one.result === result).length;
  console.log(
    `${kind}: ${outcomes.length - count('skipped')} of ${outcomes.length} ran, ${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`,
  );
  return isAsKnown;
}

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-perf-tests-'));
try {
  const tests = fetchTests(folder);
  if (typeof tests !== 'string') console.log(`Skipped: ${PACKAGE} cannot be had here (${tests.absent})`);
  else {
    const wrapper = join(folder, 'perf');
    writeFileSync(wrapper, `#!/bin/sh\nexec '${COMMAND}' "$@"\n`);
    chmodSync(wrapper, 0o755);
    const attrs = join(tests, 'attr');
    const names = readdirSync(attrs).filter((name) => name.startsWith('test-'));
    const areAsKnown = [
      tell(
        'tests/attr',
        names.map((name) => attrTest(attrs, name)),
      ),
      tell(
        'tests/shell',
        SHELL_TESTS.map((name) => shellTest(join(tests, 'shell'), name, folder)),
      ),
    ];
    if (areAsKnown.includes(false)) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
