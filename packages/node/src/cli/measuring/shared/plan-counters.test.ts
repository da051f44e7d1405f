import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describePmu } from '@counterpoint/core/pmus';
import { planCounting } from '../../../linux/count/counting/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { type CounterAnswer, counterAnswers, counterText, unknownCountersText } from './plan-counters.ts';

/** A Cortex-A57: one fixed counter, for cycles, and six. */
const CORTEX_A57 = describePmu({
  architecture: 'arm64',
  ...{ vendor: null, family: null, model: null, stepping: null, modelName: null, midr: 0x411f_d070 },
  ...{ cpuid: new Map(), flags: new Set<string>(), capabilities: new Map(), nmiWatchdog: false },
  ...{ pmu: 'armv8_pmuv3_0', pmuType: 8, pmuEvents: null },
  kernelLog: { general: 6, fixed: 1, widthBits: null, firmware: null },
})!;

function texts(events: string): (string | null)[] {
  const { sets } = planCounting({ target: { kind: 'self' }, events });
  return counterAnswers(sets[0]!.events, [CORTEX_A57]).map(counterText);
}

test('each event has its counter, and software none', () => {
  const [cycles, instructions, faults] = texts('cycles,instructions,faults');
  assert.match(cycles!, /^counted on cycle/);
  assert.match(instructions!, /^counted on general \d$/);
  assert.equal(faults, null);
});

test('more events than counters have one for a share of the time', () => {
  const names = Array.from({ length: 9 }, (_, index) => `r${index + 3}`);
  assert.match(texts(names.join(','))[0]!, /^counted on general \d, for \d\d % of the time$/);
});

test('a group with more events than counters is never counted, for a reason', () => {
  const names = Array.from({ length: 9 }, (_, index) => `r${index + 3}`);
  for (const text of texts(`{${names.join(',')}}`)) assert.match(text!, /^never counted: .*9 /);
});

test('the plans of stat and record say it, event by event', async () => {
  for (const verb of ['stat', 'record']) {
    const { out } = await counterpoint(verb, '--plan', '--json', '-e', 'cycles,faults', 'true');
    for (const { counter } of JSON.parse(out).opens)
      assert.deepEqual(Object.keys(counter).sort(), ['counters', 'kind', 'reason', 'remedy', 'share']);
  }
});

test('counters of which nothing is known take one line, and only where some are wanted', () => {
  const counter: CounterAnswer = { kind: 'unknown', counters: [], share: null, reason: null, remedy: null };
  assert.match(unknownCountersText([{ attr: { type: 0 }, counter }])!, /not known/);
  assert.equal(unknownCountersText([{ attr: { type: 1 }, counter }]), null);
});
