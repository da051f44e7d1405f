/** perf's --group, as if the events stood in braces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterpoint } from '../../test/command-line.ts';

const EVENTS = ['-e', 'cpu-clock:u', '-e', 'task-clock:u,context-switches:u'];

/** Who leads whom, and when they begin, of the events that a verb would open. */
async function opened(...words: string[]): Promise<unknown[]> {
  const { out, err, status } = await counterpoint(...words, '--plan', '--json', 'true');
  assert.equal(status, 0, err);
  const { opens } = JSON.parse(out) as {
    opens: { cpu: number; groupLeader: number | null; attr: Record<string, unknown> }[];
  };
  return opens.map(({ cpu, groupLeader, attr }) => [
    cpu,
    groupLeader,
    attr['config'] ?? 0,
    attr['disabled'] ?? 0,
    attr['enable_on_exec'] ?? 0,
  ]);
}

for (const verb of ['record', 'stat']) {
  test(`${verb} --group is one group of all events`, async () => {
    const joined = await opened(verb, '--group', ...EVENTS);
    assert.deepEqual(joined, await opened(verb, '-e', '{cpu-clock:u,task-clock:u,context-switches:u}'));
    assert.notDeepEqual(joined, await opened(verb, ...EVENTS));
  });

  test(`${verb} --group is refused where something else says what a group is`, async () => {
    for (const [words, message] of [
      [[], /there are none/],
      [['-e', '{cpu-clock,task-clock}'], /in a group already/],
      [['-e', 'sched:sched_switch', '--filter', 'prev_pid == 1'], /does not go with --filter/],
    ] as const) {
      const { status, err } = await counterpoint(verb, '--group', ...words, 'true');
      assert.equal(status, 129);
      assert.match(err, message);
    }
  });
}

test('stat -g counts them, all or none', async () => {
  const { err, status } = await counterpoint('stat', '-g', '--json', ...EVENTS, 'true');
  assert.equal(status, 0, err);
  const rows = JSON.parse(err).rows as { event: string; set: string; status: string; enabledNs: string }[];
  assert.deepEqual(
    rows.map(({ event, status }) => [event, status]),
    ['cpu-clock:u', 'task-clock:u', 'context-switches:u'].map((event) => [event, 'counted']),
  );
  assert.equal(new Set(rows.map(({ set, enabledNs }) => `${set} ${enabledNs}`)).size, 1);
});
