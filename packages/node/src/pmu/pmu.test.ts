import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { EventSyntaxError, parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from './lookup.ts';

const root = mkdtempSync(join(tmpdir(), 'counterpoint-sysfs-'));
after(() => rmSync(root, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `${text}\n`);
}

const imc = 'bus/event_source/devices/uncore_imc_0';
put(`${imc}/type`, '24');
put(`${imc}/cpumask`, '0,18');
put(`${imc}/format/event`, 'config:0-7,32-35');
put(`${imc}/format/umask`, 'config:8-15');
put(`${imc}/events/cas_count_read`, 'event=0x104,umask=0x03');
put(`${imc}/events/cas_count_read.scale`, '6.103515625e-5');
put(`${imc}/events/cas_count_read.unit`, 'MiB');
put(`${imc}/events/clockticks`, 'event=0xff');
put(`${imc}/caps/max_precise`, '3');
put('bus/event_source/devices/broken/type', 'many');
put('bus/event_source/devices/bare/type', '77');
put('kernel/tracing/events/sched/sched_switch/id', '372');
put('kernel/tracing/events/sched/sched_waking/id', '373');
put('kernel/tracing/events/sched/enable', '0');

test('PMUs and tracepoints are read from their folders', () => {
  const lookup = systemEventLookup(root);
  assert.deepEqual(lookup.pmuNames(), ['bare', 'broken', 'uncore_imc_0']);
  assert.equal(lookup.pmu('broken'), null);
  assert.equal(lookup.pmu('../devices/bare'), null);
  assert.equal(lookup.pmu('bare')!.formats.size, 0);
  assert.equal(parseEvents('bare/config=3/', lookup)[0]!.cpus, undefined);
  const pmu = lookup.pmu('uncore_imc_0')!;
  assert.equal(lookup.pmu('uncore_imc_0'), pmu);
  assert.deepEqual([...pmu.events.keys()], ['cas_count_read', 'clockticks']);
  assert.equal(pmu.capability('max_precise'), '3');
  assert.equal(pmu.capability('branches'), null);

  const [read, ticks] = parseEvents('imc/cas_count_read/,clockticks', lookup);
  assert.deepEqual(
    [read!.attr.type, read!.attr.config, read!.unit, read!.scale, read!.cpus],
    [24, 0x1_0000_0304n, 'MiB', 6.103515625e-5, '0,18'],
  );
  assert.equal(ticks!.attr.config, 0xffn);
  assert.deepEqual(
    parseEvents('sched:sched_*', lookup).map(({ attr, name }) => [name, attr.config]),
    [
      ['sched:sched_switch', 372n],
      ['sched:sched_waking', 373n],
    ],
  );
  assert.equal(lookup.tracepoint('sched', 'enable'), null);
  assert.equal(lookup.tracepoint('..', 'sched'), null);
});

test('tracefs that is not mounted, or not for us, says what to do', () => {
  const absent = systemEventLookup(root, join(root, 'nowhere')).tracepoint('sched', 'sched_switch');
  assert.ok(absent !== null && typeof absent === 'object');
  assert.match(absent.unavailable, /not mounted at .*nowhere$/);
  assert.match(absent.remedy, /mount -t tracefs/);

  const real = '/sys/kernel/tracing';
  if (process.getuid?.() !== 0 && existsSync(real)) {
    const denied = systemEventLookup().tracepoint('sched', 'sched_switch');
    assert.ok(denied !== null && typeof denied === 'object');
    assert.match(denied.remedy, /sudo mount/);
    assert.throws(() => parseEvents('sched:sched_switch', systemEventLookup()), EventSyntaxError);
  }
});

test('a machine without sysfs still has the generic events', () => {
  const lookup = systemEventLookup(join(root, 'nowhere'));
  assert.deepEqual(lookup.pmuNames(), []);
  assert.equal(parseEvents('cycles,cs', lookup).length, 2);
});

test('the software PMU of this machine', {
  skip: !existsSync('/sys/bus/event_source/devices/software'),
}, () => {
  const lookup = systemEventLookup();
  assert.equal(lookup.pmu('software')!.type, 1);
  for (const name of lookup.pmuNames()) {
    const pmu = lookup.pmu(name);
    // Every event that the kernel lists must be one that its own formats can express.
    for (const [event, { terms }] of pmu?.events ?? []) {
      if (terms.includes('?')) continue;
      const text = `${name}/${event}/`;
      assert.equal(parseEvents(text, lookup)[0]!.attr.type, pmu!.type, text);
    }
  }
});
