import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { findMetric, groupText, sharedGroups } from './named-metrics.ts';
import { TOPDOWN_METRICS, topdownMetrics } from './topdown.ts';

test('a group that another one contains is not counted for itself', () => {
  const metrics = ['frequency', 'ipc', 'cpi', 'frontend-stalls'].map(findMetric);
  const counted = new Set([...sharedGroups(metrics).values()].map(groupText));
  assert.deepEqual(
    [...counted].sort(),
    ['task-clock', '{instructions,cycles}', '{stalled-cycles-frontend,cycles}'].sort(),
  );
});

test('-M counts a shared event once, and shows every metric, each once', async () => {
  for (const words of [
    ['-M', 'cpus-utilized,page-fault-rate,cpus-utilized'],
    ['-M', 'cpus-utilized', '-M', 'page-fault-rate'],
  ]) {
    const { rows } = JSON.parse((await counterpoint('stat', '--json', ...words, 'true')).err);
    assert.deepEqual(
      rows.map(({ event, metrics }: { event: string; metrics: { unit: string }[] }) => [
        event,
        metrics.map(({ unit }) => unit.replace(/^.*\/sec /, '')),
      ]),
      [
        ['page-faults', ['page-fault-rate']],
        ['task-clock', ['cpus-utilized']],
      ],
    );
  }
});

test('two metrics of one event stand one below the other', async () => {
  const { err } = await counterpoint('stat', '--plan', '-M', 'ipc,cpi,frequency', 'true');
  assert.equal(err, '');
  const { out } = await counterpoint('stat', '--plan', '--json', '-M', 'ipc,cpi,frequency', 'true');
  assert.deepEqual(
    JSON.parse(out).opens.map(({ event }: { event: string }) => event),
    ['instructions', 'cycles', 'task-clock'],
  );
});

test('top-down: shares of the four parts, or which event is missing', () => {
  const counts = [1000, 400, 100, 300, 200];
  assert.deepEqual(
    TOPDOWN_METRICS.map(({ value }) => value(counts, 1)),
    [40, 10, 30, 20],
  );
  const pmu = (names: string[]) => ({
    pmu: (name: string) =>
      name === 'cpu'
        ? {
            name,
            type: 4,
            formats: new Map(),
            events: new Map(names.map((event) => [event, { terms: '' }])),
          }
        : null,
  });
  assert.throws(() => topdownMetrics(pmu(['slots'])), /the PMU cpu lacks topdown-retiring, /);
  assert.throws(() => topdownMetrics({ pmu: () => null }), /no PMU of a CPU/);
  const names = TOPDOWN_METRICS[0]!.groups[0]!;
  assert.equal(topdownMetrics(pmu([...names])).length, 4);
});
