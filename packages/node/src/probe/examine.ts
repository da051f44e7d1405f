import type { Sys } from '../sys/index.ts';
import {
  type Check,
  checkDescriptors,
  checkHardware,
  checkKernelCode,
  checkKernelSymbols,
  checkLockedMemory,
  checkNode,
  checkParanoid,
  checkPerfMaps,
  checkRecording,
  checkSampleRate,
  checkTracepoints,
  checkWholeCpus,
} from './checks.ts';

export interface Examination {
  type: 'doctor';
  version: 1;
  /** Whether own programs can be recorded, which was tried. */
  canRecord: boolean;
  checks: Check[];
}

/** Everything that decides on what can be recorded here. The first check is the trial itself. */
export function examineMachine(sys: Sys, cpuCount: number): Examination {
  const recording = checkRecording(sys);
  const node = checkNode();
  const checks = [
    recording,
    checkParanoid(sys),
    checkKernelCode(sys),
    checkWholeCpus(sys),
    checkHardware(sys),
    checkKernelSymbols(sys),
    checkTracepoints(),
    checkSampleRate(),
    checkLockedMemory(sys),
    checkDescriptors(sys, cpuCount),
    node,
    checkPerfMaps(),
  ];
  return { type: 'doctor', version: 1, canRecord: recording.state === 'ok' && node.state === 'ok', checks };
}
