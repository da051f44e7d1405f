import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import { liveHandles, realSys } from '../sys/index.ts';
import { cannotLoad, goes } from '../test/bpf-programs.ts';
import { listLinks, listMaps, listPrograms } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const sys = realSys;

// Other programs of this machine come and go: what is looked for has a name of its own.
const LEFT = `left_${process.pid}`;
const HOLDER = `
import { realSys } from '../sys/index.ts';
import { clockEvent, EXIT, makeMap, makeProgram, returns } from '../test/bpf-programs.ts';
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
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source', '--input-type=module', '-'],
    { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  try {
    child.stdin.end(HOLDER);
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
