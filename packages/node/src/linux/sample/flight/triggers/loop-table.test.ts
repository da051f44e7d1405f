/** The table of loops, and the programs that write it, on the real kernel. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { until } from '../../../../test/until-told.ts';
import { realSys } from '../../../kernel/sys/index.ts';
import { LOOP_TABLE, LoopTable, writeLoopProgram } from './loop-table.ts';
import { hookCalls } from './system-call-hooks.ts';
import { whereIsMainThread } from './thread-whereabouts.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';

test('processes whose numbers are alike have room, and those that are gone make it', () => {
  const table = new LoopTable({ buffer: new ArrayBuffer(LOOP_TABLE.valueSizeBytes) });
  const alike = [7, 7 + 1024, 7 + 2048, 7 + 4096];
  const places = alike.map((pid) => table.add(pid));
  assert.equal(new Set(places).size, 4);
  assert.ok(!places.includes(null));
  assert.equal(table.add(7 + 8192), null);
  assert.notEqual(table.add(8), null);
  table.remove(places[1]!);
  assert.equal(table.add(7 + 8192), places[1]);
});

test('ends of waits are noted, of the watched process alone; beginnings where that is asked for', {
  skip,
}, async () => {
  using hooks = disposable(
    await hookCalls(realSys, ['epoll_wait', 'epoll_pwait', 'epoll_pwait2'], {
      maps: [LOOP_TABLE],
      program: writeLoopProgram,
    }),
  );
  const mapping = hooks.map(LOOP_TABLE.name).mapValues('write');
  const table = new LoopTable(mapping);
  const children = [1, 2].map(() => spawn(process.execPath, ['-e', 'setInterval(() => {}, 10)']));
  const [watched, other] = children.map(({ pid }) => pid!);
  try {
    const place = table.add(watched!)!;
    // In the set of another number: nobody has it.
    const stranger = table.add(2 ** 22 + 1)!;
    assert.ok(await until(() => table.since(place) > 0n));
    const first = table.since(place);
    assert.ok(first <= process.hrtime.bigint());
    assert.ok(await until(() => table.since(place) > first));
    assert.equal(table.since(stranger), 0n);
    assert.ok(await until(() => whereIsMainThread(watched!) === 'waiting'));
    if (!hooks.seesEntries) {
      // It waits most of the time, and nobody says so yet.
      for (let look = 0; look < 50; look++) {
        assert.notEqual(table.since(place), 0n);
        await new Promise((done) => setTimeout(done, 1));
      }
      hooks.hookEntries();
    }
    assert.equal(hooks.seesEntries, true);
    assert.ok(await until(() => table.since(place) === 0n));
    assert.notEqual(table.add(other!), null);
  } finally {
    mapping.close();
    for (const child of children) child.kill();
  }
});

function disposable<Owner extends { close(): void }>(owner: Owner): Owner & Disposable {
  return Object.assign(owner, { [Symbol.dispose]: () => owner.close() });
}
