import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCpuInfo, parseKernelLog } from './cpu-text.ts';

test('/proc/cpuinfo of x86, the CPU that is asked for', () => {
  const text = [0, 1]
    .map(
      (cpu) =>
        `processor\t: ${cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: ${85 + cpu}\nmodel name\t: Invented @ 1GHz\nstepping\t: 7\nflags\t\t: fpu hypervisor\n`,
    )
    .join('\n');
  const first = parseCpuInfo(text);
  assert.deepEqual([first.vendor, first.family, first.model, first.stepping], ['GenuineIntel', 6, 85, 7]);
  assert.equal(first.modelName, 'Invented @ 1GHz');
  assert.ok(first.flags.has('hypervisor'));
  assert.equal(parseCpuInfo(text, 1).model, 86);
});

test('/proc/cpuinfo of Arm gives the MIDR', () => {
  const text =
    'processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd07\nCPU revision\t: 0\n';
  const { midr, vendor, flags } = parseCpuInfo(text);
  assert.equal(midr, 0x411f_d070);
  assert.equal(vendor, null);
  assert.ok(flags.has('asimd'));
});

test('/proc/cpuinfo of POWER and MIPS, and of nothing', () => {
  assert.equal(
    parseCpuInfo('processor\t: 0\ncpu\t\t: POWER9, altivec supported\n').modelName,
    'POWER9, altivec supported',
  );
  assert.equal(
    parseCpuInfo('system type\t: x\n\nprocessor\t: 0\ncpu model\t: MIPS 24Kc V7.4\n').modelName,
    'MIPS 24Kc V7.4',
  );
  assert.deepEqual(parseCpuInfo(''), {
    vendor: null,
    family: null,
    model: null,
    stepping: null,
    modelName: null,
    flags: new Set(),
    midr: null,
  });
});

test('the kernel log counts counters', () => {
  const x86 =
    '[0.1] ... version:                2\n[0.1] ... bit width:              48\n[0.1] ... generic registers:      4\n[0.1] ... fixed-purpose events:   3\n';
  assert.deepEqual(parseKernelLog(x86), { general: 4, fixed: 3, widthBits: 48, firmware: null });
  assert.deepEqual(
    parseKernelLog(
      '... generic bitmap:         00000000000000ff\n... fixed-purpose bitmap:   000000000000000f',
    ),
    {
      general: 8,
      fixed: 4,
      widthBits: null,
      firmware: null,
    },
  );
  const arm = (line: string) =>
    parseKernelLog(`hw perfevents: enabled with armv8_pmuv3 PMU driver, ${line}`)?.general;
  assert.equal(arm('7 counters available'), 6);
  assert.equal(arm('7 (0,8000003f) counters available, using NMIs'), 6);
  assert.deepEqual(parseKernelLog('riscv-pmu-sbi: 16 firmware and 18 hardware counters'), {
    general: 18,
    fixed: null,
    widthBits: null,
    firmware: 16,
  });
  assert.equal(parseKernelLog('nothing of the kind'), null);
});
