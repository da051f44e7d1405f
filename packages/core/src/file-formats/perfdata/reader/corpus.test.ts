import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { collectStats } from '../../../answers/index.ts';
import { memorySource } from '../../../base/index.ts';
import { corpusUrl, lacksCorpus } from '../../../test/corpus.ts';
import { openPerfData } from './index.ts';

// Real recordings of perf 3.2 to 6.12, simpleperf and others, with the figures that
// `perf script` prints for them.
const EXPECTED = corpusUrl('perfdata/expected.json');

interface Expected {
  perf_exit: number;
  samples: number;
  sum_period?: number;
  first_time?: string;
  last_time?: string;
  distinct_tids?: number;
  per_event?: Record<string, number>;
}

/**
 * Its figures are of what perf makes out of the trace by itself; the command
 * line's tests of --itrace have them.
 */
const WITH_TRACE = 'perfdata/quipper/perf.data.intel_pt-4.14';

function seconds(timeNs: string | null): string | null {
  if (timeNs === null) return null;
  const time = BigInt(timeNs);
  return `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, '0')}`;
}

if (!existsSync(EXPECTED)) {
  test('corpus of real recordings', { skip: lacksCorpus('perfdata/expected.json') }, () => {});
} else {
  const expected = JSON.parse(readFileSync(EXPECTED, 'utf8')) as Record<string, Expected>;
  for (const [name, want] of Object.entries(expected)) {
    if (name === WITH_TRACE) continue;
    test(`figures of ${name}`, async () => {
      const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(corpusUrl(name)))));
      const stats = await collectStats(reader);
      if (want.perf_exit !== 0) {
        // perf refuses the file at the damage; we count it and read on.
        assert.ok(stats.damage.length > 0);
        assert.ok(stats.samples > 0);
        return;
      }
      const found = {
        samples: stats.samples,
        sum_period: Number(stats.sumPeriod),
        first_time: seconds(stats.firstTimeNs),
        last_time: seconds(stats.lastTimeNs),
        distinct_tids: stats.threads,
        per_event: Object.fromEntries(
          stats.events
            .filter(({ samples }) => samples > 0)
            .map(({ name: event, samples }) => [event, samples]),
        ),
      };
      for (const [key, value] of Object.entries(found)) {
        const wanted = want[key as keyof typeof found];
        if (wanted !== undefined) assert.deepEqual(value, wanted, key);
      }
    });
  }
}
