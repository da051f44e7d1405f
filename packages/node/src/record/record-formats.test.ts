/** Recordings with sampling formats, on the real kernel, read again by us and by perf. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Profile } from '@counterpoint/core/profile';
import { topFunctions } from '@counterpoint/core/query';
import { openRecording } from '../open/index.ts';
import { record } from './record.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-formats-'));
after(() => rmSync(folder, { recursive: true }));

const COMMAND = ['sh', '-c', 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'];

/** How much of an event's samples lies in the C library, in percent. */
function shareOf(profile: Profile, event: number): number {
  const { rows } = topFunctions(profile, { event, sort: ['dso'] });
  return rows.find(({ dso }) => /libc/.test(dso ?? ''))?.selfPercent ?? 0;
}

test('histogram beside ring: the same functions, and perf reads both', { skip }, async () => {
  const output = join(folder, 'both.data');
  const result = await record({
    command: COMMAND,
    events: 'task-clock',
    period: 200_000,
    formats: ['histogram', { format: 'ring' }],
    output,
  });
  assert.equal(result.formats.length, 2);
  const [histogram, ring] = result.formats;
  assert.equal(histogram?.name, 'histogram');
  assert.ok(histogram.overflows > 500n, `${histogram.overflows} overflows`);
  assert.ok(histogram.samples > 10 && BigInt(histogram.samples) <= histogram.overflows);
  assert.equal(ring?.runs, 0n);
  await using recording = await openRecording(output);
  const { profile } = await recording.profile();
  const [counted, sampled] = [0, 1].map((event) => shareOf(profile, event));
  // The same program at the same rate: what one of them sees often, the other does, too.
  assert.ok(Math.abs(counted! - sampled!) < 15, `${counted} and ${sampled} of libc`);
  const perf = spawnSync(
    'perf',
    ['report', '-i', output, '--stdio', '-F', 'overhead,comm', '--sort', 'comm'],
    {
      encoding: 'utf8',
    },
  );
  if (perf.error === undefined) {
    assert.equal(perf.status, 0, perf.stderr);
    assert.match(perf.stdout, /sh/);
  }
});

test('what is wrong with a format is said before the command runs', { skip }, async () => {
  const marker = join(folder, 'ran');
  const command = ['touch', marker];
  const attempt = (formats: string[]) =>
    record({ command, events: 'task-clock', formats, output: join(folder, 'none.data') });
  await assert.rejects(attempt(['histgram']), { code: 'ERR_NO_FORMAT', message: /did you mean histogram/ });
  await assert.rejects(attempt(['histogram,max-entry=5']), { code: 'ERR_FORMAT_OPTION' });
  const broken = join(folder, 'broken.ts');
  writeFileSync(
    broken,
    "export default { name: 'broken', version: 1, summary: '', options: {}, plan: () => ({}), async *collect() {},\n" +
      "  onOverflow(asm: { load: Function }) { throw new Error('no idea'); } };\n",
  );
  await assert.rejects(attempt([broken]), { code: 'ERR_FORMAT_HANDLER', message: /broken threw .* no idea/ });
  assert.notEqual(spawnSync('ls', [marker]).status, 0);
});

test('a size limit holds for what formats write, too', { skip }, async () => {
  const maxSizeBytes = 200_000;
  const result = await record({
    systemWide: true,
    events: 'cpu-clock',
    period: 50_000,
    // A half is handed over at every 64th overflow.
    formats: [{ format: 'double-buffer', options: { records: 4096, threshold: 2 } }],
    maxSizeBytes,
    buildIds: false,
    signal: AbortSignal.timeout(20_000),
    output: join(folder, 'limited.data'),
  });
  assert.equal(result.stopped, 'size-limit');
  assert.ok(result.bytes >= maxSizeBytes);
});

test('what is no format is named', { skip }, async () => {
  const attempt = (format: unknown) =>
    record({ command: ['true'], formats: [format as string], output: join(folder, 'none.data') });
  await assert.rejects(attempt({}), { code: 'ERR_FORMAT_OPTION', message: /format/ });
  await assert.rejects(attempt({ format: {} }), { code: 'ERR_FORMAT_MODULE', message: /name is missing/ });
  await assert.rejects(attempt({ format: 'histogram', option: {} }), { message: /did you mean options/ });
  await assert.rejects(attempt({ format: 'histogram', options: { interval: 'soon' } }), {
    code: 'ERR_FORMAT_OPTION',
  });
});
