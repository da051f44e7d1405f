/** Every feature there is, with something in each. */
import type { PerfDataFeatures } from '../file-formats/perfdata/features/index.ts';
import { makeAttr } from '../format/records/index.ts';
import { exampleAttr, exampleBytes } from './example-records.ts';

export const EXAMPLE_FEATURES: Omit<PerfDataFeatures, 'raw'> = {
  hostname: 'workshop',
  osRelease: '6.18.0',
  version: '7.0',
  arch: 'x86_64',
  cpusAvailable: 4,
  cpusOnline: 3,
  cpuDescription: 'Example CPU @ 3.00GHz',
  cpuId: 'GenuineIntel,6,85,7',
  totalMemoryKb: 16_000_000n,
  commandLine: ['/usr/bin/counterpoint', 'record', '--', 'it’s', ''],
  eventDescriptions: [
    { attr: { ...exampleAttr(), size: 72 }, name: 'cpu-clock:u', ids: [1n, 2n, 1n << 40n] },
    { attr: makeAttr({ type: 4, config: 0x1a3n, config2: 5n, size: 72 }), name: 'r1a3', ids: [] },
  ],
  cpuTopology: {
    packages: ['0-1', '2-3'],
    cores: ['0', '1', '2-3'],
    dies: ['0-3'],
    cpus: [
      { coreId: 0, packageId: 0, dieId: 0 },
      { coreId: 1, packageId: 0, dieId: 0 },
      { coreId: 0, packageId: 1, dieId: 2 },
      { coreId: 1, packageId: 1, dieId: 2 },
    ],
  },
  numaTopology: [
    { node: 0, totalKb: 8_000_000n, freeKb: 1n, cpus: '0-1' },
    { node: 1, totalKb: 8_000_000n, freeKb: 2n, cpus: '2-3' },
  ],
  branchStack: true,
  pmuMappings: [
    { type: 1, name: 'software' },
    { type: 4, name: 'cpu' },
  ],
  groups: [{ name: '{anon_group}', leaderIndex: 0, memberCount: 2 }],
  auxIndex: [{ offset: 1n << 33n, size: 4096n }],
  stat: true,
  caches: [{ level: 1, lineSize: 64, sets: 64, ways: 8, type: 'Data', size: '32K', cpus: '0-1' }],
  sampleTime: { first: 1_000_000_000n, last: 2_500_000_000n },
  memoryTopology: { blockSizeBytes: 0x800_0000n, nodes: [{ node: 0n, bitCount: 70n, words: [5n, 3n] }] },
  clockIdResolutionNs: 1n,
  dirFormat: 1n,
  bpfProgInfo: new Uint8Array(4),
  bpfBtf: exampleBytes(12),
  compressed: { version: 1, type: 1, level: 1, ratio: 5, mmapLength: 528_384 },
  cpuPmuCaps: [{ name: 'branches', value: '32' }],
  clockData: { version: 1, clockId: -1, wallClockNs: 1_700_000_000_000_000_000n, clockIdTimeNs: 12n },
  hybridTopology: [{ pmu: 'cpu_core', cpus: '0-3' }],
  pmuCaps: [{ pmu: 'intel_pt', capabilities: [{ name: 'psb_cyc', value: '1' }] }],
  cpuDomainInfo: exampleBytes(8),
  elfMachine: { machine: 62, flags: 0 },
  cacheLineSize: 64,
  buildIds: [
    { pid: -1, misc: 0x8001, buildId: '00112233445566778899aabbccddeeff00112233', path: '[kernel.kallsyms]' },
    { pid: -1, misc: 0x8002, buildId: '0011223344556677', path: '/usr/bin/démo' },
  ],
};
