import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { describePmu } from '@counterpoint/core/pmus';
import { readCpuIdentities } from './cpu-identity.ts';

/** A machine of files: path -> text. */
function withMachine(files: Readonly<Record<string, string | Buffer>>, run: (root: string) => void): void {
  const root = mkdtempSync(join(tmpdir(), 'counterpoint-cpu-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    run(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

function identitiesAt(root: string, architecture: string) {
  return readCpuIdentities({
    sys: join(root, 'sys'),
    proc: join(root, 'proc'),
    dev: join(root, 'dev'),
    architecture,
  });
}

const PMUS = 'sys/bus/event_source/devices';

test('a hybrid x86 machine has an identity per kind of core', () => {
  withMachine(
    {
      'proc/cpuinfo': [0, 4]
        .map(
          (cpu) =>
            `processor\t: ${cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 154\nstepping\t: 3\n`,
        )
        .join('\n'),
      'proc/sys/kernel/nmi_watchdog': '1\n',
      [`${PMUS}/cpu_core/type`]: '4\n',
      [`${PMUS}/cpu_core/cpus`]: '0-3\n',
      [`${PMUS}/cpu_core/events/slots`]: 'event=0x00,umask=0x4\n',
      [`${PMUS}/cpu_core/caps/max_precise`]: '3\n',
      [`${PMUS}/cpu_atom/type`]: '10\n',
      [`${PMUS}/cpu_atom/cpus`]: '4-11\n',
      [`${PMUS}/uncore_imc_0/type`]: '20\n',
    },
    (root) => {
      const [atom, core, ...more] = identitiesAt(root, 'x64');
      assert.equal(more.length, 0);
      assert.deepEqual([atom!.pmu, atom!.pmuType, core!.pmu, core!.pmuType], ['cpu_atom', 10, 'cpu_core', 4]);
      assert.deepEqual([core!.vendor, core!.family, core!.model], ['GenuineIntel', 6, 154]);
      assert.equal(core!.capabilities.get('max_precise'), '3');
      assert.equal(core!.nmiWatchdog, true);
      const model = describePmu(core!)!;
      assert.equal(model.counters.length, 12);
      assert.match(model.notes.join(), /assumed/);
      assert.equal(describePmu(atom!)!.counters.length, 7);
    },
  );
});

test('CPUID is read at the position that a leaf has', () => {
  // A plain file in the device's place holds leaves 0 and 0xA at their positions.
  const cpuid = Buffer.alloc(0xa + 16);
  cpuid.writeUInt32LE(0x16, 0);
  cpuid.writeUInt32LE(0x0730_0404, 0xa);
  cpuid.writeUInt32LE(0x603, 0xa + 12);
  withMachine(
    {
      'dev/cpu/0/cpuid': cpuid,
      'proc/cpuinfo': 'processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 85\n',
    },
    (root) => {
      const [identity] = identitiesAt(root, 'x64');
      assert.deepEqual(identity!.cpuid.get('a.0'), { eax: 0x0730_0404, ebx: 0, ecx: 0, edx: 0x603 });
      assert.equal(identity!.cpuid.has('23.0'), false);
      const model = describePmu(identity!)!;
      assert.equal(model.counters.length, 7);
      assert.deepEqual(model.notes, []);
    },
  );
});

test('an Arm machine: MIDR from sysfs, counters from the kernel log', () => {
  withMachine(
    {
      'proc/cpuinfo': 'processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd07\n',
      'sys/devices/system/cpu/cpu0/regs/identification/midr_el1': '0x00000000414fd0c1\n',
      'dev/kmsg': '6,1,1,-;hw perfevents: enabled with armv8_pmuv3_0 PMU driver, 5 counters available\n',
      [`${PMUS}/armv8_pmuv3_0/type`]: '8\n',
      [`${PMUS}/armv8_pmuv3_0/events/cpu_cycles`]: 'event=0x0011\n',
    },
    (root) => {
      const [identity] = identitiesAt(root, 'arm64');
      assert.equal(identity!.midr, 0x414f_d0c1);
      const model = describePmu(identity!)!;
      assert.match(model.title, /Neoverse N1/);
      assert.equal(model.counters.length, 5);
      assert.deepEqual(
        model.events.map(({ name }) => name),
        ['cpu_cycles'],
      );
    },
  );
});

test('a machine that shows nothing still has an identity', () => {
  withMachine({ nothing: '' }, (root) => {
    const [identity] = identitiesAt(root, 's390x');
    assert.equal(identity!.architecture, 'other');
    assert.equal(describePmu(identity!), null);
    assert.equal(describePmu(identitiesAt(root, 'arm64')[0]!)!.counters.length, 0);
  });
});

test('this machine is read as /proc/cpuinfo shows it, without waiting for the kernel log', () => {
  const before = performance.now();
  const identities = readCpuIdentities();
  assert.ok(performance.now() - before < 2000);
  assert.ok(identities.length >= 1);
  const model = /^model\s*: (\d+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
  if (model !== undefined) assert.equal(identities[0]!.model, Number(model));
  assert.doesNotThrow(() => describePmu(identities[0]!));
});
