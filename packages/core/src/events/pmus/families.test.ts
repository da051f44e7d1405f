import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  a57Identity,
  identity,
  intelIdentity,
  power9Identity,
  riscvIdentity,
  zen1Identity,
  zen4Identity,
} from '../../test/cpu-identities.ts';
import { parseFormat, placeBits } from '../names/index.ts';
import { counterAtPageIndex } from './assign.ts';
import { describePmu } from './families.ts';
import { formatText, readTerm } from './term-layout.ts';
import type { PmuModel } from './types.ts';

const MODELS = {
  skylake: describePmu(intelIdentity({ version: 4, general: 4, fixed: 3 }))!,
  icelake: describePmu(
    intelIdentity({ version: 5, general: 8, fixed: 4, events: ['slots', 'topdown-retiring'] }),
  )!,
  zen1: describePmu(zen1Identity)!,
  zen4: describePmu(zen4Identity)!,
  f15h: describePmu(
    identity({ architecture: 'x86', vendor: 'AuthenticAMD', family: 0x15, flags: ['perfctr_core'] }),
  )!,
  a57: describePmu(a57Identity)!,
  riscv: describePmu(riscvIdentity)!,
  power9: describePmu(power9Identity)!,
  mips: describePmu(identity({ architecture: 'mips', modelName: 'MIPS 24Kc V7.4' }))!,
};

function event(model: PmuModel, name: string) {
  const found = model.events.find((candidate) => candidate.name === name);
  assert.ok(found, `${model.title} has ${name}`);
  return found;
}

test('every event of every model is described, named once, and encoded as its terms say', () => {
  for (const [key, model] of Object.entries(MODELS)) {
    assert.ok(model.events.length > 0, key);
    assert.equal(new Set(model.events.map(({ name }) => name)).size, model.events.length, key);
    for (const { name, terms, config, config1, description, unit } of model.events) {
      assert.ok(description.length > 10 && description.endsWith('.'), `${key} ${name}`);
      assert.ok(unit.length > 0);
      // The grammar's own way from sysfs formats to bits is the twin.
      const words = { config: 0n, config1: 0n, config2: 0n, config3: 0n, config4: 0n };
      for (const text of terms.split(',')) {
        const [term, value] = text.split('=') as [string, string];
        const layout = model.terms.find((candidate) => candidate.name === term)!;
        const format = parseFormat(formatText(layout))!;
        words[format.field] |= placeBits(format, BigInt(value)).word;
        assert.equal(readTerm(layout, words[layout.word]), BigInt(value));
      }
      assert.equal(words.config, config, `${key} ${name}`);
      assert.equal(words.config1, config1);
    }
  }
});

test('generic events of every model lead to counters', () => {
  for (const [key, model] of Object.entries(MODELS)) {
    assert.ok(model.generic.has(0) && model.generic.has(1), key);
    for (const [number, config] of model.generic) {
      const { places, refusal } = model.requirementOf({ config, config1: 0n });
      assert.equal(refusal, undefined, `${key} ${number}`);
      assert.ok(places.length > 0);
      for (const counter of places.flat()) assert.ok(counter < model.counters.length);
    }
  }
});

test('Intel: counters, widths and events as CPUID leaf 0xA has them', () => {
  const { counters, events } = MODELS.skylake;
  assert.deepEqual(
    counters.map(({ name }) => name),
    [
      'general 0',
      'general 1',
      'general 2',
      'general 3',
      'fixed 0 (instructions)',
      'fixed 1 (core cycles)',
      'fixed 2 (reference cycles)',
    ],
  );
  assert.ok(counters.every(({ widthBits }) => widthBits === 48));
  assert.equal(counters[5]!.pageIndex, 0x4000_0002);
  assert.equal(counterAtPageIndex(MODELS.skylake, 0x4000_0002), counters[5]);
  assert.equal(counterAtPageIndex(MODELS.skylake, 4)?.name, 'general 3');
  assert.equal(counterAtPageIndex(MODELS.skylake, 0), null);
  assert.equal(
    events.find(({ name }) => name === 'slots'),
    undefined,
  );
  assert.equal(event(MODELS.skylake, 'core-cycles').terms, 'event=0x3c,umask=0x00');
  assert.deepEqual(event(MODELS.skylake, 'core-cycles').constraint, {
    general: [0, 1, 2, 3],
    fixed: [1],
    isPair: false,
    exclusive: null,
  });
  assert.deepEqual(event(MODELS.skylake, 'reference-cycles-tsc').constraint.general, []);
  assert.deepEqual(event(MODELS.icelake, 'slots').constraint.fixed, [3]);
  assert.equal(MODELS.icelake.counters.at(-1)!.kind, 'metric');
});

test('Intel: an absent architectural event is neither listed nor generic', () => {
  const model = describePmu(intelIdentity({ version: 2, general: 2, fixed: 3, absent: 1 << 4 }))!;
  assert.equal(
    model.events.find(({ name }) => name === 'llc-misses'),
    undefined,
  );
  assert.equal(model.generic.has(3), false);
  assert.equal(model.generic.has(2), true);
});

test('Intel: version 1 has no fixed counters, version 0 no PMU, version 6 its maps', () => {
  const first = describePmu(intelIdentity({ version: 1, general: 2, fixed: 3 }))!;
  assert.equal(first.counters.length, 2);
  assert.equal(first.generic.has(9), false);
  const none = describePmu(intelIdentity({ version: 0, general: 0, fixed: 0, flags: ['hypervisor'] }))!;
  assert.equal(none.counters.length, 0);
  assert.match(none.notes[0]!, /virtual machine/);
  assert.match(none.requirementOf({ config: 0x3cn, config1: 0n }).refusal!, /no performance counters/);
  const maps = { general: 0b1011, fixed: 0b111_0111, events: 0x1fff };
  const sixth = describePmu(intelIdentity({ version: 6, general: 8, fixed: 3, maps }))!;
  assert.deepEqual(
    sixth.counters.map(({ kind, number }) => `${kind[0]}${number}`),
    ['g0', 'g1', 'g3', 'f0', 'f1', 'f2', 'f4', 'f5', 'f6'],
  );
  assert.deepEqual(event(sixth, 'slots-frontend-bound').constraint.fixed, [5]);
  assert.ok(event(sixth, 'lbr-inserts'));
});

test('Intel: a threshold, edge or inversion takes an event off its fixed counter', () => {
  const { requirementOf, counters } = MODELS.skylake;
  for (const bits of [1n << 18n, 1n << 23n, 2n << 24n]) {
    const { places } = requirementOf({ config: 0xc0n | bits, config1: 0n });
    assert.ok(places.every(([counter]) => counters[counter!]!.kind === 'general'));
  }
});

test('Intel: without CPUID the kernel log counts, and else it is said what was assumed', () => {
  const blind = { ...intelIdentity({ version: 4, general: 4, fixed: 3 }), cpuid: new Map() };
  const assumed = describePmu(blind)!;
  assert.equal(assumed.counters.length, 7);
  assert.match(assumed.notes[0]!, /assumed/);
  const log = { general: 8, fixed: 4, widthBits: 48, firmware: null };
  const logged = describePmu({ ...blind, kernelLog: log })!;
  assert.equal(logged.counters.length, 12);
  assert.match(logged.notes[0]!, /kernel log/);
});

test('AMD: six counters with the core extension, four without, as said by PerfMonV2', () => {
  assert.equal(MODELS.zen1.counters.length, 6);
  assert.equal(
    describePmu(identity({ architecture: 'x86', vendor: 'AuthenticAMD', family: 0x10 }))!.counters.length,
    4,
  );
  assert.equal(MODELS.zen4.counters.length, 6);
  assert.match(MODELS.zen4.title, /PerfMonV2/);
  assert.equal(MODELS.zen4.generic.get(9), 0x1_0000_0120n);
  assert.equal(MODELS.zen1.generic.get(7), 0x0287n);
});

test('AMD: flops of Zen 2 and later take two neighbours; family 15h binds events to units', () => {
  assert.deepEqual(event(MODELS.zen4, 'flops-retired').constraint, {
    general: [0, 2, 4],
    fixed: [],
    isPair: true,
    exclusive: null,
  });
  const { requirementOf } = MODELS.f15h;
  const countersOf = (config: bigint) => requirementOf({ config, config1: 0n }).places.flat();
  assert.deepEqual(countersOf(0x76n), [0, 1, 2]);
  assert.deepEqual(countersOf(0x03n), [3]);
  assert.deepEqual(countersOf(0x2en), [0, 3]);
  assert.deepEqual(countersOf(0x1_0000_00c0n), [3, 4, 5]);
  assert.match(requirementOf({ config: 0xe0n, config1: 0n }).refusal!, /northbridge/);
});

test('Armv8: cycles have a counter of their own, long events take a pair of narrow ones', () => {
  const { counters, requirementOf } = MODELS.a57;
  assert.equal(counters.length, 7);
  assert.deepEqual(requirementOf({ config: 0x11n, config1: 0n }).places[0], [6]);
  assert.deepEqual(requirementOf({ config: 0x08n, config1: 1n }).places, [
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
  const wide = describePmu({
    ...a57Identity,
    kernelLog: { general: 6, fixed: 1, widthBits: 64, firmware: null },
  })!;
  assert.equal(wide.requirementOf({ config: 0x08n, config1: 1n }).places.length, 6);
  assert.match(requirementOf({ config: 0x1en, config1: 0n }).refusal!, /long/);
  assert.deepEqual(requirementOf({ config: 0x11n, config1: 3n }).places, [[6]]);
  assert.match(requirementOf({ config: 0x08n, config1: 3n }).refusal!, /user space/);
});

test('Armv8: only events that sysfs lists, and branches as the core has them', () => {
  const few = describePmu({
    ...a57Identity,
    pmuEvents: new Set(['cpu_cycles', 'inst_retired', 'br_retired']),
  })!;
  assert.deepEqual(
    few.events.map(({ name }) => name),
    ['inst_retired', 'cpu_cycles', 'br_retired'],
  );
  assert.equal(few.generic.get(4), 0x21n);
  assert.equal(describePmu({ ...a57Identity, pmuEvents: new Set(['cpu_cycles']) })!.generic.get(4), 0x0cn);
});

test('RISC-V: firmware events are on firmware counters, cycles and instructions first on their own', () => {
  const { counters, requirementOf, generic } = MODELS.riscv;
  const sent = event(MODELS.riscv, 'firmware-ipi-sent');
  assert.equal(sent.config, (2n << 62n) | 6n);
  assert.ok(requirementOf(sent).places.every(([counter]) => counters[counter!]!.kind === 'firmware'));
  const cycles = requirementOf({ config: generic.get(0)!, config1: 0n }).places[0]!;
  assert.equal(counters[cycles[0]!]!.name, 'cycle');
});

test('POWER: the code names its counter', () => {
  const { requirementOf } = MODELS.power9;
  assert.deepEqual(requirementOf({ config: 0x400f6n, config1: 0n }).places, [[3]]);
  assert.deepEqual(requirementOf({ config: 0x04080n, config1: 0n }).places, [[0], [1], [2], [3]]);
  assert.deepEqual(requirementOf({ config: 0x1en, config1: 0n }).places[0], [5]);
  assert.match(requirementOf({ config: 0x500f0n, config1: 0n }).refusal!, /counter 5/);
  assert.match(requirementOf({ config: 0x700f0n, config1: 0n }).refusal!, /there are six/);
});

test('MIPS: even and odd counters know different events', () => {
  const { requirementOf, generic } = MODELS.mips;
  const countersOf = (number: number) => requirementOf({ config: generic.get(number)!, config1: 0n }).places;
  assert.deepEqual(countersOf(0), [[0], [1]]);
  assert.deepEqual(countersOf(4), [[0]]);
  assert.deepEqual(countersOf(5), [[1]]);
});

test('a CPU of no known family has no model', () => {
  assert.equal(describePmu(identity({ architecture: 'other' })), null);
  assert.equal(describePmu(identity({ architecture: 'mips', modelName: 'unheard of' })), null);
});
