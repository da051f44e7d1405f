import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CpuIdentity } from '@counterpoint/core/pmus';

// Invented tables: the fields are those that vendors publish, the events are not.

export interface IntelRow {
  EventName: string;
  EventCode: string;
  [field: string]: string;
}

export function intelTable(...events: readonly IntelRow[]): string {
  return JSON.stringify({ Header: { Copyright: 'none', Version: '1' }, Events: events });
}

export function armTable(events: Record<string, { code: string; title?: string }>, part = '0xd07'): string {
  const product = { product_name: 'Invented A57', part_num: part, implementer: '0x41', num_slots: 8 };
  return JSON.stringify({ product_configuration: product, events, metrics: {} });
}

/** Writes files by their paths. */
export function writeTree(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

const NOBODY: CpuIdentity = {
  architecture: 'other',
  vendor: null,
  family: null,
  model: null,
  stepping: null,
  modelName: null,
  flags: new Set(),
  cpuid: new Map(),
  midr: null,
  pmu: 'cpu',
  pmuType: 4,
  pmuEvents: new Set(),
  capabilities: new Map(),
  kernelLog: null,
  nmiWatchdog: false,
};

export const skylake: CpuIdentity = {
  ...NOBODY,
  architecture: 'x86',
  vendor: 'GenuineIntel',
  family: 6,
  model: 0x55,
  stepping: 7,
};

export const cortexA57: CpuIdentity = {
  ...NOBODY,
  architecture: 'arm64',
  midr: 0x411f_d070,
  pmu: 'armv8_pmuv3_0',
  pmuType: 8,
};

/** The two kinds of core of a hybrid machine. */
export const alderlake: readonly CpuIdentity[] = [
  { ...skylake, model: 0x9a, pmu: 'cpu_core' },
  { ...skylake, model: 0x9a, pmu: 'cpu_atom', pmuType: 10 },
];
