import type { CpuIdentity } from '@counterpoint/core/pmus';
import { describePmu } from '@counterpoint/core/pmus';
import { type Check, type KernelFiles, readStanding } from '../probe/index.ts';
import type { Sys } from '../sys/index.ts';
import { checkCounters, checkUserReads, countersText, currentCpu } from './examine-counters.ts';

/** What PMUs of these names count; the first that fits. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^software$/, 'events of the kernel: clocks, faults, switches'],
  [/^tracepoint$/, 'static places in the kernel (tracefs)'],
  [/^breakpoint$/, 'accesses to an address (mem:)'],
  [/^[ku]probe$/, 'any instruction (probes)'],
  [/^msr$/, 'counting registers of the CPU: tsc, aperf, mperf'],
  [/^power(?:_core)?$/, 'energy (RAPL)'],
  [/^cstate_/, 'time in idle states'],
  [/^intel_(?:pt|bts)$|^cs_etm$|^hisi_ptt$/, 'traces of branches'],
  [/^ibs_|^arm_spe/, 'samples of instructions'],
  [
    /^uncore_|^amd_(?:df|l3|umc)|_(?:ddrc|l3c|hha|cmn|dsu|dmc)|^arm_(?:cmn|dsu)|^nest_|^hv_/,
    'parts of the chip outside of the cores',
  ],
  [/^(?:i915|xe|amdgpu)/, 'the graphics processor'],
  [/iommu|smmu/, 'address translation of devices'],
];

const DEVICES = '/sys/bus/event_source/devices';

/** Every PMU that the kernel shows, and what it counts. */
export function checkPmus(files: KernelFiles, identities: readonly CpuIdentity[]): Check {
  const name = 'PMUs';
  const pmus = files.list(DEVICES).map((pmu) => ({
    name: pmu,
    type: Number(files.read(`${DEVICES}/${pmu}/type`) ?? Number.NaN),
    counts: describe(pmu, identities),
    events: files.list(`${DEVICES}/${pmu}/events`).filter((event) => !event.includes('.')).length,
  }));
  if (pmus.length === 0) {
    const why = `${DEVICES} has none, or /sys is hidden`;
    return {
      name,
      state: 'absent',
      why,
      fix: 'A kernel with CONFIG_PERF_EVENTS, and sysfs mounted.',
      facts: { pmus },
    };
  }
  const width = Math.max(...pmus.map((pmu) => pmu.name.length));
  const more = pmus.map((pmu) => `${pmu.name.padEnd(width)}  ${pmu.counts}`);
  const why = pmus.map((pmu) => pmu.name).join(', ');
  return { name, state: 'ok', why, fix: '', facts: { pmus }, more };
}

function describe(pmu: string, identities: readonly CpuIdentity[]): string {
  const identity = identities.find((one) => one.pmu === pmu && one.pmuType !== null);
  if (identity !== undefined) {
    const model = describePmu(identity);
    return model === null
      ? 'the core; its family is not described'
      : `the core: ${model.title}, ${countersText(model)}`;
  }
  return KINDS.find(([pattern]) => pattern.test(pmu))?.[1] ?? 'what its own events say (counterpoint list)';
}

/** What `doctor` says of PMUs. */
export function examinePmus(
  sys: Sys,
  files: KernelFiles,
  identities: readonly CpuIdentity[],
  cpusOf: (pmu: string) => readonly number[] | null,
): Check[] {
  const standing = readStanding(sys, files);
  return [
    checkPmus(files, identities),
    checkCounters(sys, identities, { files, standing, cpu: currentCpu(files), cpusOf }),
    checkUserReads(identities, files),
  ];
}
