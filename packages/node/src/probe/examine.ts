import type { Sys } from '../sys/index.ts';
import type { Check } from './check.ts';
import {
  checkDescriptors,
  checkHardware,
  checkKernelCode,
  checkKernelSymbols,
  checkLockedMemory,
  checkNode,
  checkPerfMaps,
  checkRecording,
  checkSampleRate,
  checkTracepoints,
  checkWholeCpus,
} from './checks.ts';
import { type KernelFiles, realFiles } from './kernel-settings.ts';
import { checkParanoid, readStanding } from './rights.ts';

export interface Examination {
  type: 'doctor';
  version: 1;
  /** Whether own programs can be recorded, which was tried. */
  canRecord: boolean;
  checks: Check[];
}

/** Everything that decides on what can be recorded here. The first check is the trial itself. */
export function examineMachine(sys: Sys, cpuCount: number, files: KernelFiles = realFiles): Examination {
  const standing = readStanding(sys, files);
  const recording = checkRecording(sys, standing);
  const node = checkNode();
  // A filter that forbids the least forbids the rest, whatever the paranoid level says of that.
  const isFiltered = recording.state === 'forbidden' && standing.isConfined && (standing.paranoid ?? 0) <= 2;
  const further = isFiltered ? { ...standing, paranoid: null } : standing;
  const checks = [
    recording,
    checkParanoid(standing, recording.state === 'ok'),
    checkKernelCode(sys, further),
    checkWholeCpus(sys, further),
    checkHardware(sys, further),
    checkKernelSymbols(files, standing),
    checkTracepoints(files, standing),
    checkSampleRate(files),
    checkLockedMemory(sys, standing),
    checkDescriptors(sys, cpuCount),
    node,
    checkPerfMaps(),
  ];
  return { type: 'doctor', version: 1, canRecord: recording.state === 'ok' && node.state === 'ok', checks };
}
