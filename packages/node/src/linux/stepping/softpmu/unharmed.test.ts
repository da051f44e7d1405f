import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandLineProcess } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';
import { countSoft, type SoftResult } from './count-soft.ts';

const hasCompiler = process.arch === 'x64' && spawnSync('gcc', ['--version']).status === 0;
const skip = hasCompiler ? false : 'no gcc, or not x86-64';
const timeout = 300_000;
const SOURCE = fileURLToPath(new URL('../../../test/stepped-program.c', import.meta.url));

function buildProgram(t: TestContext): { program: string; folder: string } {
  const folder = temporaryFolder(t);
  const program = join(folder, 'stepped-program');
  const { status, stderr } = spawnSync('gcc', ['-O1', '-static', '-o', program, SOURCE], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return { program, folder };
}

/** Runs it without us and with us: what it prints and its status must be the same. */
async function compareRuns(t: TestContext, mode: string): Promise<SoftResult> {
  const { program, folder } = buildProgram(t);
  const alone = spawnSync(program, [mode], { encoding: 'utf8' });
  const path = join(folder, 'out');
  const out = openSync(path, 'w');
  const result = await countSoft({ command: [program, mode], stdio: ['ignore', out, 'inherit'] });
  closeSync(out);
  assert.equal(readFileSync(path, 'utf8'), alone.stdout);
  assert.equal(result.exit?.code, alone.status);
  assert.equal(result.exit?.signal, alone.signal);
  return result;
}

test('a hundred threads', { skip, timeout }, async (t) => {
  assert.equal((await compareRuns(t, 'threads')).counts.threads, 101);
});

test('fork, vfork, and exec', { skip, timeout }, async (t) => {
  assert.equal((await compareRuns(t, 'family')).counts.threads, 3);
});

test('exec by another thread than the leader', { skip, timeout }, async (t) => {
  const { counts, exit } = await compareRuns(t, 'exec-by-thread');
  assert.equal(counts.threads, 2);
  assert.equal(exit?.code, 5);
});

test('system calls that signals and stops interrupt begin again, or say so', { skip, timeout }, async (t) => {
  await compareRuns(t, 'restarted');
});

test('code that changes itself is counted as it is when it runs', { skip, timeout }, async (t) => {
  await compareRuns(t, 'self-modifying');
});

test('the vdso, and the vsyscall page, whose code nobody can read', { skip, timeout }, async (t) => {
  const { counts } = await compareRuns(t, 'system-pages');
  assert.ok(counts.unreadable <= 2, `${counts.unreadable}`);
});

test('a program that catches, blocks and ignores SIGTRAP', { skip, timeout }, async (t) => {
  await compareRuns(t, 'trap-signal');
});

test('32-bit code', { skip, timeout }, async (t) => {
  const folder = temporaryFolder(t);
  const [source, program] = [join(folder, 'program.S'), join(folder, 'program')];
  const text = `.globl _start
_start: mov $100,%ecx
1: dec %ecx
 jnz 1b
 inc %eax
 mov $1,%eax
 mov $7,%ebx
 int $0x80
`;
  writeFileSync(source, text);
  const built = spawnSync('gcc', ['-m32', '-nostdlib', '-static', '-o', program, source], {
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  if (spawnSync(program).status !== 7) return t.skip('this kernel runs no 32-bit programs');
  const { counts, exit } = await countSoft({ command: [program] });
  assert.equal(exit?.code, 7);
  assert.equal(counts.instructions, 1 + 200 + 4);
  assert.equal(counts.conditional, 100);
});

const stateOf = (pid: number) => /^State:\t(.)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
const tracerOf = (pid: number) => /^TracerPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
const ALL_LINES = Array.from({ length: 100 }, (_, line) => `line ${line}\n`).join('');

test('SIGSTOP stops a target and SIGCONT lets it go on', { skip, timeout }, async (t) => {
  const { program, folder } = buildProgram(t);
  const path = join(folder, 'out');
  const out = openSync(path, 'w');
  let told = (_: number) => {};
  const started = new Promise<number>((resolve) => {
    told = resolve;
  });
  const counted = countSoft({
    command: [program, 'lines'],
    stdio: ['ignore', out, 'inherit'],
    onStart: (_, pid) => told(pid!),
  });
  const pid = await started;
  assert.ok(await until(() => readFileSync(path, 'utf8').includes('line 3\n')));
  process.kill(pid, 'SIGSTOP');
  // A stop of the group: between two steps the thread is `t`, too, but then it goes on.
  let before = '';
  const stands = () => {
    const now = readFileSync(path, 'utf8');
    const isSame = now === before;
    before = now;
    return isSame && stateOf(pid) !== 'R' && stateOf(pid) !== 'S';
  };
  assert.ok(await until(() => stands() && stands()));
  process.kill(pid, 'SIGCONT');
  const { exit } = await counted;
  closeSync(out);
  assert.equal(exit?.code, 0);
  assert.equal(readFileSync(path, 'utf8'), ALL_LINES);
});

test('a target that is traced already is refused by the name of its tracer', { skip, timeout }, async (t) => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const stop = new AbortController();
  let attached = () => {};
  const isAttached = new Promise<void>((resolve) => {
    attached = resolve;
  });
  const first = countSoft({ pids: [child.pid!], signal: stop.signal, onStart: () => attached() });
  await isAttached;
  await assert.rejects(countSoft({ pids: [child.pid!] }), { code: 'ERR_TRACED_ALREADY' });
  stop.abort();
  await first;
});

/** The command line as a process of its own, and who does what in it. */
async function startCommand(
  t: TestContext,
): Promise<{ command: ChildProcess; pid: number; tracer: number; path: string; err: () => string }> {
  const { program, folder } = buildProgram(t);
  const path = join(folder, 'out');
  const out = openSync(path, 'w');
  const words = ['stat', '-v', '-e', 'soft/instructions/', '--', program, 'lines'];
  const command = spawn(process.execPath, [...commandLineProcess(), ...words], {
    stdio: ['ignore', out, 'pipe'],
    detached: true,
  });
  closeSync(out);
  let text = '';
  command.stderr!.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  assert.ok(await until(() => number(/the tracer is process (\d+)/) > 0), text);
  const [pid, tracer] = [number(/the command is process (\d+)/), number(/the tracer is process (\d+)/)];
  assert.ok(await until(() => readFileSync(path, 'utf8').includes('line 3\n')));
  return { command, pid, tracer, path, err: () => text };
}

test('kill -9 of the command: the target goes on, untraced, and prints all that it prints', {
  skip,
  timeout,
}, async (t) => {
  const { command, pid, tracer, path } = await startCommand(t);
  command.kill('SIGKILL');
  assert.ok(await until(() => tracerOf(pid) === '0'), 'it is still traced');
  assert.ok(await until(() => readFileSync(path, 'utf8').length >= ALL_LINES.length));
  assert.equal(readFileSync(path, 'utf8'), ALL_LINES);
  assert.ok(await until(() => !isAlive(tracer)), 'the tracer is still there');
});

test('kill -9 of the tracer: the target ends, and the command says why', { skip, timeout }, async (t) => {
  const { command, pid, tracer, err } = await startCommand(t);
  const closed = new Promise<number | null>((resolve) => command.on('close', resolve));
  process.kill(tracer, 'SIGKILL');
  assert.notEqual(await closed, 0);
  assert.match(err(), /the process that steps the target has ended early/);
  assert.match(err(), /leaves it in single steps/);
  assert.ok(await until(() => !isAlive(pid)), 'it lives');
});

test('Ctrl-C ends target and counting, and the counts are printed', { skip, timeout }, async (t) => {
  const { command, pid, err } = await startCommand(t);
  const closed = new Promise<number | null>((resolve) => command.on('close', resolve));
  // As a terminal does it: to all of the foreground.
  process.kill(-command.pid!, 'SIGINT');
  await closed;
  assert.match(err(), /\d+ +soft\/instructions\//);
  assert.ok(await until(() => !isAlive(pid)), 'it lives');
});

/** A process that has ended and was not waited for is dead, too. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\t[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
