/** `flight`: programs that crash, hang and write, on the real kernel. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../../../host/open/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'tracepoints need root';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-flight-verb-'));
after(() => rmSync(folder, { recursive: true }));

/** A service that spends its time in two functions, and does what a line of its input says. */
const SERVICE = `${SPIN_CPU_SOURCE}
const { writeFileSync } = require('node:fs');
function spinForRequest(ms) { spinCpu(ms); }
setInterval(() => spinForRequest(20), 40);
process.stdin.on('data', (line) => {
  const [verb, path] = line.toString().trim().split(' ');
  if (verb === 'write') writeFileSync(path, 'x');
  if (verb === 'end') process.exit();
});
console.log('ready');`;

class Service implements Disposable {
  readonly child: ChildProcess;

  constructor() {
    const flags = ['--perf-basic-prof', '--interpreted-frames-native-stack', '-e', SERVICE];
    this.child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  async isReady(): Promise<this> {
    await new Promise((done) => this.child.stdout!.once('data', done));
    return this;
  }

  say(line: string): void {
    this.child.stdin!.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
    rmSync(`/tmp/perf-${this.child.pid}.map`, { force: true });
  }
}

interface Flight {
  child: ChildProcess;
  /** What it has said so far. */
  err(): string;
  /** Resolves when it has said so. */
  says(pattern: RegExp): Promise<void>;
  ended: Promise<number | null>;
}

function startFlight(...words: string[]): Flight {
  const child = spawn(process.execPath, [...commandLineProcess(), 'flight', ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let text = '';
  child.stderr!.on('data', (piece) => {
    text += piece;
  });
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  const says = async (pattern: RegExp) => {
    for (let tries = 0; !pattern.test(text); tries++) {
      assert.ok(tries < 300 && child.exitCode === null, text);
      await new Promise((done) => setTimeout(done, 100));
    }
  };
  return { child, err: () => text, says, ended };
}

const filesOf = (directory: string) => readdirSync(directory).map((name) => join(directory, name));

test('a child crashes and the command goes on: its end has a file, too', { skip }, async () => {
  const out = join(folder, 'crash-of-child');
  // Wall time: so long the service lives on.
  const service = `sh -c 'kill -SEGV $$'; sleep 0.1`;
  const words = ['--on', 'crash', '--on', 'exit', '--min-interval', '0', '-o', out, '--json'];
  const { err, out: json } = await counterpoint('flight', ...words, '--', 'bash', '-c', service);
  const triggers = json
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).trigger);
  assert.equal(triggers.length, 2, err);
  assert.match(triggers[0], /^crash: SIGSEGV in /);
  assert.equal(triggers[1], 'exit');
});

test('a crash: the file names the function in which it was, and the status is the command’s', {
  skip,
}, async () => {
  const out = join(folder, 'crash');
  const app = `${SPIN_CPU_SOURCE} function spinForCrash(ms) { spinCpu(ms); } spinForCrash(600); process.abort();`;
  const {
    status,
    err,
    out: json,
  } = await counterpoint(
    ...[
      'flight',
      '--on',
      'crash',
      '--on',
      'exit',
      '-F',
      '999',
      '-o',
      out,
      '--json',
      '--',
      process.execPath,
      '-e',
      app,
    ],
  );
  assert.equal(status, 134, err);
  const dumps = json
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(dumps.length, 1, err);
  assert.deepEqual([dumps[0].type, dumps[0].version], ['flight-dump', 1]);
  // Which signal, whose, in which process and thread.
  const crash = /^crash: SIGABRT in node \(process (\d+)\)$/;
  assert.match(dumps[0].trigger, crash);
  assert.match(err, /flight: crash: SIGABRT in node \(process \d+\): wrote/);
  assert.match(err, /the command has ended: 1 file \]/);
  const header = await counterpoint('report', '--header-only', '-i', dumps[0].path);
  assert.match(header.out, /^# trigger : crash: SIGABRT in node \(process \d+\)$/m);
  assert.match(header.out, new RegExp(`^# triggered at : ${dumps[0].at}$`, 'm'));
  await using recording = await openRecording(dumps[0].path);
  const { profile } = await recording.profile();
  const { rows } = topFunctions(profile, { sort: ['symbol'], children: true });
  const inside = rows.find(({ symbol }) => /spinForCrash/.test(symbol ?? ''));
  assert.ok(inside !== undefined && inside.percent > 50, JSON.stringify(rows.slice(0, 4)));
});

test('of a whole machine, too: by a field of a tracepoint', { skip }, async () => {
  const out = join(folder, 'machine');
  const flight = startFlight(
    ...['-a', '-e', 'cpu-clock', '-F', '99', '-o', out, '--max-dumps', '1'],
    ...['--on', 'field:sched:sched_process_exec:filename ~ "*/true"'],
  );
  await flight.says(/watching/);
  assert.equal(spawnSync('true').status, 0);
  assert.equal(await flight.ended, 0, flight.err());
  assert.match(flight.err(), /field:sched:sched_process_exec:filename ~ "\*\/true": wrote/);
});

test('a directory that cannot be made is refused at once, with what to do', { skip }, async () => {
  const flight = startFlight('--on', 'exit', '-o', '/sys/flight', '--', 'true');
  assert.equal(await flight.ended, 1);
  assert.match(flight.err(), /cannot write \/sys\/flight: .*\n +Write elsewhere with -o/);
  // There mkdir says that the directory above is missing, for ever.
  const inProc = startFlight('--on', 'exit', '-o', '/proc/nodir/flight', '--', 'true');
  assert.equal(await inProc.ended, 1);
  assert.match(inProc.err(), /cannot write \/proc\/nodir\/flight/);
});

test('a directory that cannot be written is refused at once, and the command does not run', {
  skip,
}, async (t) => {
  const readOnly = join(folder, 'read-only');
  mkdirSync(readOnly);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', readOnly]).status !== 0)
    return t.skip('no tmpfs can be mounted');
  try {
    const ran = join(folder, 'ran');
    const flight = startFlight('--on', 'exit', '-o', readOnly, '--', 'touch', ran);
    assert.equal(await flight.ended, 1);
    assert.match(flight.err(), /cannot write .*read-only.*\n +Write elsewhere with -o/);
    assert.ok(!existsSync(ran));
  } finally {
    spawnSync('umount', [readOnly]);
  }
});

test('a service: by hand, by an event and by a field; it goes on, unharmed', { skip }, async () => {
  using service = await new Service().isReady();
  const out = join(folder, 'service');
  const pipe = join(folder, 'control');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const field = 'field:syscalls:sys_enter_openat:flags & 0x40';
  const flight = startFlight(
    ...['-p', `${service.child.pid}`, '-F', '499', '-o', out, '--min-interval', '0s', '--keep', '5s'],
    ...['--on', 'signal:USR2', '--on', `control:${pipe}`, '--on', field],
  );
  await flight.says(/watching/);
  const [pid] = /(?<=process )\d+/.exec(flight.err()) ?? [];
  process.kill(Number(pid), 'SIGUSR2');
  await flight.says(/signal:USR2: wrote/);
  writeFileSync(pipe, 'snapshot slow request\nnonsense\n');
  await flight.says(/slow request: wrote/);
  await flight.says(/does not know 'nonsense'/);
  service.say(`write ${join(folder, 'written')}`);
  await flight.says(/sys_enter_openat:flags & 0x40: wrote/);
  assert.equal(service.child.exitCode, null);
  service.say('end');
  assert.equal(await flight.ended, 0, flight.err());
  assert.match(flight.err(), /the target has ended: 3 files/);
  assert.ok(existsSync(join(folder, 'written')));
  const files = filesOf(out).sort();
  assert.equal(files.length, 3);
  await using recording = await openRecording(files.at(-1)!);
  const rows = topFunctions((await recording.profile()).profile, { sort: ['symbol'], children: true }).rows;
  assert.ok(rows.some(({ symbol }) => /spinForRequest/.test(symbol ?? '')));
  // perf reads it, and has as many samples.
  const script = spawnSync('perf', ['script', '-i', files.at(-1)!, '-F', 'time'], { encoding: 'utf8' });
  if (script.status === 0) {
    const { samples } = await recording.stats();
    assert.equal(script.stdout.trim().split('\n').length, Number(samples));
  }
});

test('an event N times: as many files as it comes to', { skip }, async () => {
  const out = join(folder, 'event');
  const app = 'for (let i = 0; i < 1050; i++) process.ppid; setTimeout(() => {}, 300)';
  const words = ['--on', 'event:syscalls:sys_enter_getppid:500', '--min-interval', '1h', '-o', out];
  // Each CPU counts for itself: on a busy machine the program may change it in between.
  const command = ['taskset', '-c', '0', process.execPath, '-e', app];
  const { status, err } = await counterpoint('flight', ...words, '--', ...command);
  assert.equal(status, 0, err);
  // Two came; one was too soon after the other.
  assert.match(err, /1 file, 1 trigger came too soon/);
});

test('USR2 writes a file beside other triggers, too, and does not end the recorder', {
  skip: !isRoot,
}, async () => {
  const out = join(folder, 'usr2');
  const flight = startFlight('--on', 'every:1h', '-o', out, '-a', '-e', 'cpu-clock');
  await flight.says(/watching/);
  const [pid] = /(?<=process )\d+/.exec(flight.err()) ?? [];
  for (const times of [1, 2]) {
    process.kill(Number(pid), 'SIGUSR2');
    await flight.says(new RegExp(`(signal:USR2: wrote[^]*){${times}}`));
  }
  process.kill(Number(pid), 'SIGINT');
  await flight.ended;
  assert.equal(filesOf(out).length, 2);
});

test('of an event that this machine lacks, N of something else is no trigger', { skip }, async (t) => {
  const { status, err } = await counterpoint(
    'flight',
    '--on',
    'event:cycles:100',
    '-o',
    folder,
    '--',
    'true',
  );
  if (status === 0) return t.skip('this machine has cycles');
  assert.match(err, /the trigger event:cycles:100: this machine offers no hardware cycles/);
});

test('without a trigger there is no file, and that is said; Ctrl-C is 130', { skip: !isRoot }, async () => {
  const out = join(folder, 'none');
  const { status, err } = await counterpoint('flight', '-o', out, '--', 'sh', '-c', 'exit 3');
  assert.equal(status, 3);
  assert.match(err, /no trigger fired, so there is no file/);
  assert.deepEqual(filesOf(out), []);
  const flight = startFlight('-o', out, '-a');
  await flight.says(/watching/);
  const [pid] = /(?<=process )\d+/.exec(flight.err()) ?? [];
  process.kill(Number(pid), 'SIGINT');
  await flight.ended;
  assert.match(flight.err(), /stopped: no trigger fired/);
});

test('a recorder that is killed leaves nothing in the kernel, and its target alone', { skip }, async () => {
  using service = await new Service().isReady();
  const probes = () => realSys.readTracefs('uprobe_events');
  const flight = startFlight(
    ...['-p', `${service.child.pid}`, '-o', join(folder, 'killed')],
    ...['--on', `event:uprobe:${process.execPath}:uv_hrtime:1000000`],
    ...['--on', `function:${process.execPath}:uv_fs_open>1h`],
  );
  await flight.says(/watching/);
  const [pid] = /(?<=process )\d+/.exec(flight.err()) ?? [];
  // While it lives: once it is dead, also a recorder of somebody else takes away what it left.
  assert.ok(probes().includes(`counterpoint_${pid}_`), probes());
  process.kill(Number(pid), 'SIGKILL');
  await flight.ended;
  // The next one takes away what was left, whatever it watches.
  // The kernel may still be closing the events of the killed one.
  for (let tries = 0; tries === 0 || (probes().includes(`counterpoint_${pid}_`) && tries < 20); tries++) {
    const next = await counterpoint('flight', '-o', join(folder, 'killed'), '--', 'true');
    assert.equal(next.status, 0, next.err);
  }
  assert.ok(!probes().includes(`counterpoint_${pid}_`), probes());
  assert.equal(service.child.exitCode, null);
});

test('what cannot be is said before anything runs', async () => {
  for (const [words, says] of [
    [[], /nothing to watch/],
    [['--on', 'key', '--', 'true'], /standard input/],
    [['--on', 'nonsense', '--', 'true'], /no such kind\n.*Kinds are key, control, signal, .*psi/],
    [['--on', 'kye', '--', 'true'], /Did you mean key/],
    [['--on', 'key:x', '-a'], /has no argument/],
    [['--on', 'control', '-a'], /needs a named pipe\n.*mkfifo/],
    [
      ['--on', 'control:/no/such', '-a'],
      /^counterpoint flight: --on control: \/no\/such cannot be used: it does not/,
    ],
    [['--on', 'control:/etc/passwd', '-a'], /passwd cannot be used: it is not a pipe\n.*of another name/],
    [['--on', 'psi:cpu', '--', 'true'], /share/],
    [['--call-graph', 'dwarf', '--', 'true'], /fp or no/],
    [['-e', 'cpu-clock/time=0/', '--', 'true'], /without times/],
  ] as const) {
    const { status, err } = await counterpoint('flight', '-o', folder, ...words);
    if (words[0] === '--on') assert.equal(status, 129, err);
    assert.notEqual(status, 0);
    assert.match(err, says);
    assert.doesNotMatch(err, /watching/);
  }
});

test('a file without samples says why there are none', { skip }, async (t) => {
  const sleeper = spawn('sleep', ['60']);
  t.after(() => sleeper.kill('SIGKILL'));
  const recorder = startFlight(
    '-p',
    `${sleeper.pid}`,
    '-e',
    'cpu-clock',
    '--json',
    '-o',
    join(folder, 'empty'),
  );
  t.after(() => recorder.child.kill('SIGKILL'));
  let json = '';
  recorder.child.stdout!.on('data', (piece) => {
    json += piece;
  });
  await recorder.says(/watching/);
  recorder.child.kill('SIGUSR2');
  await recorder.says(/wrote .* \(0 records, 0 ns\) \]\n.*EMPTY: no samples: /);
  recorder.child.kill('SIGINT');
  await recorder.ended;
  assert.equal(JSON.parse(json).samples, 0);
});
