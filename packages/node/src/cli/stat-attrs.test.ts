import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { counterpoint } from '../test/command-line.ts';
import { perfIsMissing } from '../test/perf.ts';
import { parseOpens, STRACE, straceIsMissing, type TracedOpen } from '../test/traced-opens.ts';

/** PID is a process with several threads. Each is traced as perf's and as ours. */
const LINES = [
  'true',
  '-ddd true',
  '-a sleep 0.01',
  '-e {faults,cs},cycles:u true',
  '-e {cycles,instructions}:u true',
  '-e {faults,cycles} true',
  '-e {faults,cs}:W true',
  '-e {cs:u,faults:k} true',
  '-e {cycles,faults}:e true',
  '-a -e cpu-clock,faults sleep 0.01',
  '-a -A -e faults sleep 0.01',
  '-a --per-core -e {faults,cs} sleep 0.01',
  '-C 1 -e {faults,cs} sleep 0.01',
  '-p PID -e faults,cs sleep 0.01',
  '-t PID -e faults sleep 0.01',
  '--per-thread -p PID -e {faults,cs} sleep 0.01',
  '-i -e faults true',
  '--all-user -e faults,cycles true',
  '--all-kernel -e faults true',
  '-e faults:u,faults:k,faults:h true',
  '-e cycles:p,cycles:pp,cycles:P true',
  '-e cycles:D,faults:D true',
  '-e cycles:G,cycles:H true',
  '-e instructions:uk,branches:I true',
  '-e r1a8,r003c true',
  '-e L1-dcache-loads,LLC-load-misses,dTLB-store-misses true',
  '-e ref-cycles,bus-cycles,stalled-cycles-frontend true',
  '-e cpu-migrations,major-faults,alignment-faults,emulation-faults true',
  '-e bpf-output,dummy true',
  '-e raw_syscalls:sys_enter,syscalls:sys_enter_write true',
  '-e syscalls:sys_enter_write --filter count==5 true',
  '-e mem:0x1000/4:w,mem:0x2000:x true',
  '-e software/config=2,name=foo/u true',
  '-D 5 -e faults,cs sleep 0.02',
  '-I 20 -e faults,cs sleep 0.03',
  '-r 2 -e faults true',
  '--for-each-cgroup / -a -e faults,cs sleep 0.01',
  '-n true',
] as const;

const MARK = '/counterpoint-test-line-';

/** All command lines in one process; a path that does not exist tells the trace where each begins. */
const RUN_ALL = `
import { accessSync } from 'node:fs';
const { runCommandLine } = await import(${JSON.stringify(new URL('./main.ts', import.meta.url).href)});
const { Output } = await import(${JSON.stringify(new URL('./output.ts', import.meta.url).href)});
const sink = () => new Output({ isTerminal: false, columns: () => 0, write: () => {} }, {});
for (const [at, words] of JSON.parse(process.argv[1]).entries()) {
  try { accessSync('${MARK}' + at); } catch {}
  await runCommandLine(['stat', ...words], sink(), sink());
}
process.exit();`;

const skip = perfIsMissing() || straceIsMissing();

describe('the kernel gets from us what it gets from perf stat', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  let target: ChildProcess;
  let known: ReadonlySet<number>;
  let wordsOf: (line: string) => string[];
  const ours = new Map<string, TracedOpen[]>();

  before(async () => {
    target = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
    await setTimeout(500);
    known = new Set(readdirSync(`/proc/${target.pid}/task`).map(Number));
    wordsOf = (line) => line.split(' ').map((word) => (word === 'PID' ? String(target.pid) : word));
    const path = join(folder, 'ours');
    const node = [
      process.execPath,
      '--import',
      import.meta.resolve('tsx'),
      '--conditions=counterpoint-source',
    ];
    trace('perf_event_open,access,faccessat2', path, [
      ...[...node, '--input-type=module', '-e', RUN_ALL, '--'],
      JSON.stringify(LINES.map(wordsOf)),
    ]);
    let at = -1;
    const parts: string[][] = LINES.map(() => []);
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line.includes(MARK)) at++;
      else if (at >= 0) parts[at]!.push(line);
    }
    for (const [index, line] of LINES.entries()) ours.set(line, parseOpens(parts[index]!, known));
  });
  after(() => {
    target.kill();
    rmSync(folder, { recursive: true });
  });

  function trace(calls: string, path: string, command: readonly string[]): void {
    const [strace, ...options] = STRACE;
    const { error } = spawnSync(strace, [...options, '-e', `trace=${calls}`, '-o', path, ...command], {
      stdio: 'ignore',
      timeout: 60_000,
    });
    assert.ifError(error);
  }

  for (const line of LINES) {
    test(line, async () => {
      const path = join(folder, 'perf');
      trace('perf_event_open', path, ['perf', 'stat', ...wordsOf(line)]);
      const theirs = parseOpens(readFileSync(path, 'utf8').split('\n'), known);
      assert.deepEqual(ours.get(line), theirs);
      if (line !== '-n true') assert.ok(theirs.length > 0);
      // A plan says the same beforehand; what the kernel then refuses changes what follows.
      if (theirs.some(({ outcome }) => outcome !== 'opened') || line.startsWith('-r')) return;
      const { out } = await counterpoint('stat', '--plan', '--json', ...wordsOf(line));
      const { opens } = JSON.parse(out) as { opens: PlannedOpen[] };
      assert.deepEqual(opens.map(asTraced), theirs.map(withoutCgroup));
    });
  }
});

interface PlannedOpen {
  attr: Record<string, string | number>;
  pid: number | null;
  cgroup: string | null;
  cpu: number;
  groupLeader: number | null;
  flags: number;
}

const ALIASES: Readonly<Record<string, string>> = { bp_addr: 'config1', bp_len: 'config2' };

function asTraced({ attr, pid, cgroup, cpu, groupLeader, flags }: PlannedOpen): TracedOpen {
  const fields = Object.entries(attr)
    .map(([name, value]): [string, bigint] => [ALIASES[name] ?? name, BigInt(value)])
    .filter(([name, value]) => name !== 'size' && value !== 0n);
  const who = cgroup !== null ? 0 : (pid ?? 'command');
  return { attr: Object.fromEntries(fields), pid: who, cpu, groupLeader, flags, outcome: 'opened' };
}

/** For a control group the pid is a descriptor, which a plan does not have. */
function withoutCgroup(open: TracedOpen): TracedOpen {
  return (open.flags & 4) === 0 ? open : { ...open, pid: 0 };
}
