import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing } from '../../../test/perf.ts';
import { noKernelPart, noTracepoints } from '../../../test/rights.ts';
import {
  asTraced,
  type PlannedOpen,
  parseOpens,
  straceIsMissing,
  type TracedOpen,
  trace,
  traceCommandLines,
  withoutCgroup,
} from '../../../test/traced-opens.ts';

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

/** The threads of a process that has started them all. */
async function settledThreads(pid: number): Promise<number[]> {
  let threads: number[] = [];
  for (let same = 0, tries = 0; same < 5 && tries < 100; tries++) {
    await setTimeout(100);
    const now = readdirSync(`/proc/${pid}/task`).map(Number);
    same = now.length > 1 && now.join() === threads.join() ? same + 1 : 0;
    threads = now;
  }
  return threads;
}

/**
 * All but the event that counts nothing and tells where the kernel took the counters off a process, and the
 * breakpoint on our own memory that tells whether breakpoints do anything here.
 */
function isCounter({ attr, pid }: TracedOpen): boolean {
  return attr['comm_exec'] === undefined && !(pid === 0 && attr['bp_type'] !== undefined);
}

/** perf knows in its second run what was refused in the first; we ask again. */
function lacking(line: string): string | false {
  if (line.startsWith('-r')) return noKernelPart;
  return line.includes('sys_enter') && noTracepoints;
}

const skip = perfIsMissing() || straceIsMissing();

describe('the kernel gets from us what it gets from perf stat', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  let target: ChildProcess;
  let known: ReadonlySet<number>;
  let wordsOf: (line: string) => string[];
  const ours = new Map<string, TracedOpen[]>();

  before(async () => {
    // It is there for as long as this process.
    target = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    known = new Set(await settledThreads(target.pid!));
    wordsOf = (line) => line.split(' ').map((word) => (word === 'PID' ? String(target.pid) : word));
    const traced = traceCommandLines(
      LINES.map((line) => ['stat', ...wordsOf(line)]),
      folder,
      known,
    );
    for (const [index, line] of LINES.entries()) ours.set(line, traced[index]!);
  });
  after(() => {
    target.kill();
    rmSync(folder, { recursive: true });
  });

  for (const line of LINES) {
    test(line, { skip: lacking(line) }, async () => {
      const path = join(folder, 'perf');
      trace('perf_event_open', path, ['perf', 'stat', ...wordsOf(line)]);
      const theirs = parseOpens(readFileSync(path, 'utf8').split('\n'), known);
      assert.deepEqual(ours.get(line)!.filter(isCounter), theirs);
      if (line !== '-n true') assert.ok(theirs.length > 0);
      // A plan says the same beforehand; what the kernel then refuses changes what follows.
      if (theirs.some(({ outcome }) => outcome !== 'opened') || line.startsWith('-r')) return;
      const { out } = await counterpoint('stat', '--plan', '--json', ...wordsOf(line));
      const { opens } = JSON.parse(out) as { opens: PlannedOpen[] };
      assert.deepEqual(opens.map(asTraced), theirs.map(withoutCgroup));
    });
  }
});
