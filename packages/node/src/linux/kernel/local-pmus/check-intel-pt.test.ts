import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KernelFiles } from '../probe/index.ts';
import { checkIntelPt } from './check-intel-pt.ts';

const PT = '/sys/bus/event_source/devices/intel_pt/';

function machine(files: Record<string, string>): KernelFiles {
  return {
    read: (path) => files[path] ?? null,
    obstacle: (path) => (files[path] === undefined ? 'ENOENT' : null),
    link: () => null,
    list: () => [],
  };
}

function without(vendor: string, flags: string) {
  return checkIntelPt(
    machine({ '/proc/cpuinfo': `vendor_id\t: ${vendor}\nflags\t\t: fpu ${flags}\n` }),
    'x64',
  );
}

test('why there is no Intel PT: the vendor, the host, the kernel, the processor, the architecture', () => {
  const cases = [
    [without('AuthenticAMD', 'hypervisor'), /only processors of Intel .* AuthenticAMD$/],
    [without('GenuineIntel', 'hypervisor'), /virtual machine, and its host/],
    [without('GenuineIntel', 'intel_pt hypervisor'), /the kernel offers no PMU/],
    [without('GenuineIntel', ''), /no intel_pt in \/proc\/cpuinfo/],
    [checkIntelPt(machine({}), 'arm64'), /this architecture/],
  ] as const;
  for (const [{ state, why, fix }, expected] of cases) {
    assert.equal(state, 'absent');
    assert.match(why, expected);
    assert.equal(/soft_pt/.test(fix), !/architecture/.test(why));
  }
});

test('what the Intel PT of a machine can do is what its sysfs says', () => {
  const files = {
    [`${PT}type`]: '8',
    [`${PT}nr_addr_filters`]: '2',
    [`${PT}caps/psb_cyc`]: '1',
    [`${PT}caps/mtc`]: '0',
    [`${PT}caps/topa_multiple_entries`]: '1',
  };
  const check = checkIntelPt(machine(files), 'x64');
  assert.equal(check.state, 'ok');
  assert.equal(
    check.why,
    'record -e intel_pt//u traces, with cycle counts (cyc), 2 address filters (--filter)',
  );
  assert.deepEqual(check.facts, { capabilities: ['psb_cyc'], addressFilters: 2, topaMultipleEntries: true });
});
