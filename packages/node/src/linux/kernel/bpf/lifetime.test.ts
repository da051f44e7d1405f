import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { BPF_PERF_EVENT } from '@counterpoint/core/abi';
import { cannotLoad, goes } from '../../../test/bpf-programs.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import { listLinks, listMaps, listPrograms } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const sys = realSys;

// Other programs of this machine come and go: what is looked for has a name of its own.
const LEFT = `left_${process.pid}`;
/** A program of the text of a module, beside this file. */
function start(text: string, ...options: string[]) {
  const child = spawn(
    process.execPath,
    [
      ...options,
      '--import',
      import.meta.resolve('tsx'),
      '--conditions=counterpoint-source',
      '--input-type=module',
      '-',
    ],
    { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  child.stdin.end(text);
  return child;
}

const HOLDER = `
import { realSys } from '../sys/index.ts';
import { clockEvent, EXIT, makeMap, makeProgram, returns } from '../../../test/bpf-programs.ts';
import { attachToEvent, loadPrograms } from './index.ts';
const maps = [makeMap('${LEFT}', 'hash')];
const set = loadPrograms(realSys, [makeProgram('${LEFT}', 'perf-event', [returns(0), EXIT], maps)]);
const event = realSys.perfEventOpen(clockEvent(1_000_000), 0, -1, null);
attachToEvent(realSys, set.program('${LEFT}'), event);
realSys.enable(event);
console.log('attached');
setInterval(() => {}, 1000);
`;

test('a process that is killed leaves no program, map or link', { skip, timeout: 30_000 }, async () => {
  const programs = () => listPrograms(sys).filter(({ name }) => name === LEFT);
  const maps = () => listMaps(sys).filter(({ name }) => name === LEFT);
  const child = start(HOLDER);
  const exited = once(child, 'exit');
  try {
    await Promise.race([once(child.stdout, 'data'), exited]);
    assert.deepEqual([programs().length, maps().length], [1, 1]);
    const { id } = programs()[0]!;
    const links = () => listLinks(sys).filter(({ programId }) => programId === id);
    assert.deepEqual(
      links().map(({ type }) => type),
      ['perf-event'],
    );
    child.kill('SIGKILL');
    await exited;
    await goes(() => programs().length + maps().length + links().length > 0);
  } finally {
    child.kill('SIGKILL');
  }
});

/** The verifier takes some milliseconds for it; a signal of the profiler comes every tenth of one. */
const LONG = `
import { realSys } from '../sys/index.ts';
import { EXIT, makeProgram, returns } from '../../../test/bpf-programs.ts';
import { loadPrograms } from './index.ts';
const long = Array.from({ length: 400_000 }, () => [0xb7, 3, 0, 0, 1]);
loadPrograms(realSys, [makeProgram('long', 'perf-event', [...long, returns(0), EXIT], [])]).close();
console.log('loaded');
`;

test('a process that is being profiled loads its programs, too', { skip, timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bpf-'));
  try {
    const child = start(LONG, '--cpu-prof', '--cpu-prof-interval', '100', '--cpu-prof-dir', folder);
    let said = '';
    child.stdout.on('data', (text) => (said += text));
    const [status] = await once(child, 'close');
    assert.deepEqual([status, said], [0, 'loaded\n']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/**
 * Its links get an id each, and are refused, since the event has a program; for half a
 * minute, where nobody ends it.
 */
const REFUSED = HOLDER.replace(
  'setInterval(() => {}, 1000);',
  // Wall time: it ends by itself where nobody ends it.
  `for (const end = Date.now() + 30_000; Date.now() < end; )
    try {
      realSys.bpfLinkCreate(set.program('${LEFT}').fd, event, ${BPF_PERF_EVENT}, 0n);
      throw new Error('a second program was taken');
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }`,
);

test('links that somebody is making are none yet', { skip, timeout: 30_000 }, async () => {
  const child = start(REFUSED);
  const exited = once(child, 'exit');
  try {
    await Promise.race([once(child.stdout, 'data'), exited]);
    // Of 10,000 looks 9 met one (EAGAIN), when that was an error.
    for (let look = 0; look < 20_000; look++) listLinks(sys);
    assert.equal(child.exitCode, null, 'it made links all the time');
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
});
