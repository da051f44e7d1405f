/** Live profiles on the real kernel. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { SPIN_CPU_SOURCE } from '../../../../test/until-told.ts';
import { listPrograms } from '../../../kernel/bpf/index.ts';
import { realSys } from '../../../kernel/sys/index.ts';
import type { LiveRefresh } from './live-options.ts';
import { LiveProfile } from './live-profile.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';

/** A program that does one thing, which has a name while it runs only. */
const SPIN = `${SPIN_CPU_SOURCE}
function spinAlone(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
spinCpu(Number(process.argv[1]), () => spinAlone(1e6));`;
const spinFor = (ms: number) => [process.execPath, '-e', SPIN, String(ms)];

function topSymbol({ profile }: LiveRefresh): { symbol: string; percent: number } {
  const [row] = topFunctions(profile, { sort: ['symbol'] }).rows;
  return { symbol: row?.symbol ?? '', percent: row?.percent ?? 0 };
}

test('a busy function of a child is on top, by its name, with nearly all', { skip }, async () => {
  await using live = await LiveProfile.open({
    command: spinFor(60_000),
    events: 'task-clock',
    frequency: 1000,
    intervalMs: 500,
    keepShare: 0,
  });
  assert.ok(live.pid !== null);
  const seen: string[] = [];
  for await (const refresh of live) {
    const { symbol, percent } = topSymbol(refresh);
    const { samples, lost, end } = refresh;
    seen.push(`${percent.toFixed(0)} % ${symbol} of ${samples}, lost ${lost}${end ? `, ${end.reason}` : ''}`);
    // Counts of a CPU on which the child waits for its turn come with a later look.
    if (refresh.samples > 0) assert.ok(refresh.readNs > 0 && (refresh.handlerNs ?? 0) > 0, seen.join('; '));
    if (/spinAlone/.test(symbol) && percent > 90) return;
    if (refresh.number === 20) break;
  }
  assert.fail(seen.join('; '));
});

test('a Node that runs already and writes no names: they are read from its memory', { skip }, async (t) => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ['-e', SPIN, '120000'], { env, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await using live = await LiveProfile.open({
    pids: [child.pid!],
    events: 'task-clock',
    frequency: 1000,
    intervalMs: 500,
    keepShare: 0,
  });
  const seen: string[] = [];
  for await (const refresh of live) {
    const { symbol, percent } = topSymbol(refresh);
    seen.push(`${percent.toFixed(0)} % ${symbol}`);
    if (/^JS:.?spinAlone /.test(symbol) && percent > 80) break;
    if (refresh.number === 30) assert.fail(seen.join('; '));
  }
  assert.deepEqual(
    live.notes.filter(({ kind }) => kind === 'nameless-code'),
    [],
  );
});

test('it ends with what it looks at, and nothing is left in the kernel', { skip }, async () => {
  const child = spawn(process.execPath, ['-e', SPIN, '1000']);
  const programs = () =>
    listPrograms(realSys).flatMap(({ id, name }) => (name.startsWith('histogram') ? [id] : []));
  const before = new Set(programs());
  const live = await LiveProfile.open({
    pids: [child.pid!],
    events: 'task-clock',
    intervalMs: 200,
    keepShare: 1,
  });
  // Other recordings of this machine have programs of that name, too.
  const own = programs().filter((id) => !before.has(id));
  const left = () => programs().filter((id) => own.includes(id));
  assert.ok(own.length > 0);
  const ends: (string | undefined)[] = [];
  let total = 0;
  for await (const { end, samples, profile } of live) {
    ends.push(end?.reason);
    total += samples;
    assert.equal(profile.events[0]!.samples, total);
  }
  assert.ok(ends.length >= 2 && ends.at(-1) === 'target-ended', ends.join());
  assert.ok(ends.slice(0, -1).every((one) => one === undefined));
  await live.close();
  await live.close();
  // The kernel frees programs a moment later.
  for (let tries = 0; left().length > 0 && tries < 100; tries++)
    await new Promise((done) => setTimeout(done, 100));
  assert.deepEqual(left(), []);
});

test("a command's end is the end, with its status; stopping it ends the command", { skip }, async () => {
  const open = (command: string[]) => LiveProfile.open({ command, events: 'task-clock', intervalMs: 100 });
  await using quick = await open(['sh', '-c', 'exit 7']);
  let last: LiveRefresh | null = null;
  for await (const refresh of quick) last = refresh;
  assert.deepEqual(last?.end, { reason: 'command-exited', exit: { code: 7, signal: null } });
  const long = await open(['sleep', '60']);
  for await (const { number, end } of long) {
    if (number === 2) long.stop();
    assert.equal(end?.reason, number === 3 ? 'stopped' : undefined);
  }
  await long.close();
  assert.throws(() => process.kill(long.pid!, 0), { code: 'ESRCH' });
});

test('what is refused leaves nothing behind', { skip }, async () => {
  await assert.rejects(LiveProfile.open({ intervalMs: 0 }), { code: 'ERR_OPTION' });
  await assert.rejects(LiveProfile.open({ pids: [2 ** 30] }), { code: 'ERR_NO_PROCESS' });
  await assert.rejects(LiveProfile.open({ command: ['true'], events: 'no-such-event' }));
});
