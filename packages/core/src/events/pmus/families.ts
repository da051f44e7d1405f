import { amdCore } from './amd.ts';
import { armv8Pmuv3 } from './armv8.ts';
import { intelArchitectural } from './intel.ts';
import { mips } from './mips.ts';
import { power } from './power.ts';
import { riscvSbi } from './riscv-sbi.ts';
import type { CpuIdentity, PmuFamily, PmuModel } from './types.ts';

/** Every family that is described; the first that matches counts. */
export const PMU_FAMILIES: readonly PmuFamily[] = [
  intelArchitectural,
  amdCore,
  armv8Pmuv3,
  riscvSbi,
  power,
  mips,
];

/** The model of a machine's core PMU; `null` where its family is not described. */
export function describePmu(identity: CpuIdentity): PmuModel | null {
  return PMU_FAMILIES.find((family) => family.matches(identity))?.describe(identity) ?? null;
}
