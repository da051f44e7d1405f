/**
 * Arm SPE and CoreSight as the kernel is asked for them, against `perf record` of
 * arm64, which alone knows how.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { attrFields } from '../../../cli/common/attr-fields.ts';
import { inPerfsWords, printedAttrs } from '../../../test/printed-attrs.ts';
import { TRACE_PMUS } from '../../../test/trace-pmus.ts';
import { planRecording, type RecordOptions } from '../record/index.ts';

const DEVICES = '/sys/bus/event_source/devices';
const KERNELS_OWN = { 'software/type': '1', 'tracepoint/type': '2', 'breakpoint/type': '5' };

/** The machine is this test's alone, and has one CPU. */
before(() => {
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', 'none', DEVICES]).status, 0);
  for (const [path, text] of Object.entries({ ...KERNELS_OWN, ...TRACE_PMUS })) {
    if (path.startsWith('cs_etm/cpu1/')) continue;
    mkdirSync(dirname(join(DEVICES, path)), { recursive: true });
    writeFileSync(join(DEVICES, path), `${text}\n`);
  }
});

async function ours(request: RecordOptions) {
  const { plan } = await planRecording({ command: ['true'], ...request }, process.pid);
  const [event] = plan.events;
  return { words: inPerfsWords(attrFields(event!.attr)), areaBytes: event!.aux!.sizeBytes };
}

/** perf prints the attr before it hears that the kernel has no such event. */
function theirs(words: readonly string[]): { attr: Record<string, string>; text: string } {
  const command = ['record', '-vvv', '-o', '/tmp/perf.data', ...words, 'true'];
  const { stdout, stderr } = spawnSync('perf', command, { encoding: 'utf8' });
  const text = stdout + stderr;
  const [attr] = printedAttrs(text);
  assert.ok(attr !== undefined, text);
  return { attr: inPerfsWords(attr), text };
}

for (const [name, events] of [
  [
    'Arm SPE',
    [
      'arm_spe_0//',
      'arm_spe_0//u',
      'arm_spe_0/ts_enable=0/u',
      'arm_spe_0/ts_enable=1,jitter=1/k',
      'arm_spe_0/load_filter=1,min_latency=10/u',
    ],
  ],
  [
    'CoreSight',
    [
      'cs_etm//',
      'cs_etm//u',
      'cs_etm/retstack/u',
      'cs_etm/cycacc=1/u',
      'cs_etm/@tmc_etr0/u',
      'cs_etm/sinkid=7/u',
    ],
  ],
] as const)
  test(`${name}: the attr is the one that perf asks for`, async () => {
    for (const event of events)
      assert.deepEqual((await ours({ events: event })).words, theirs(['-e', event]).attr, event);
  });
