import { realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Sys } from '../sys/index.ts';
import type { Check } from './check.ts';
import { checkBpf, checkClock, checkLockdown, checkProbes } from './check-kernel.ts';
import {
  checkDescriptors,
  checkInterruptShare,
  checkLockedMemory,
  checkSampleRate,
  checkStackDepth,
  checkWatchdog,
} from './check-limits.ts';
import { checkCapabilities, checkContainer, checkSeccomp } from './check-process.ts';
import {
  checkBreakpoints,
  checkHardware,
  checkKernelCode,
  checkKernelSymbols,
  checkNode,
  checkPerfMaps,
  checkRecording,
  checkTracepoints,
  checkWholeCpus,
} from './checks.ts';
import { type KernelFiles, realFiles } from './kernel-settings.ts';
import type { LoginPlaces } from './remedies.ts';
import { checkParanoid, readStanding } from './rights.ts';

export interface Examination {
  type: 'doctor';
  version: 1;
  /** Whether own programs can be recorded, which was tried. */
  canRecord: boolean;
  checks: Check[];
}

/** This user, and the Node that runs us, for the commands that give them rights. */
function ownLogin(): LoginPlaces {
  let user = 'USER';
  try {
    user = userInfo().username;
  } catch {
    // A uid without a name, as in containers.
  }
  return { user, program: realpathSync(process.execPath) };
}

/**
 * Everything that decides on what can be recorded here. The first check is the
 * trial itself; then by importance.
 */
export function examineMachine(
  sys: Sys,
  cpuCount: number,
  files: KernelFiles = realFiles,
  login: LoginPlaces = ownLogin(),
): Examination {
  const standing = readStanding(sys, files);
  const capabilities = sys.effectiveCapabilities();
  const recording = checkRecording(sys, standing);
  const canOpen = recording.state === 'ok';
  const node = checkNode();
  // A filter that forbids the least forbids the rest, whatever the paranoid level says of that.
  const isFiltered = recording.state === 'forbidden' && standing.isConfined && (standing.paranoid ?? 0) <= 2;
  const further = isFiltered ? { ...standing, paranoid: null } : standing;
  const checks = [
    recording,
    checkParanoid(standing, canOpen),
    checkCapabilities(capabilities, files, standing, login),
    checkSeccomp(files, canOpen ? 'passed' : isFiltered ? 'refused' : 'unclear'),
    checkContainer(standing),
    checkKernelCode(sys, further),
    checkWholeCpus(sys, further),
    checkHardware(sys, further),
    checkBreakpoints(sys),
    checkWatchdog(files),
    checkKernelSymbols(files, standing),
    checkTracepoints(sys, files, standing),
    checkProbes(sys, files, standing),
    checkBpf(sys, files, standing, capabilities),
    checkLockdown(files),
    checkClock(sys, files, further),
    checkSampleRate(files),
    checkInterruptShare(files),
    checkStackDepth(files),
    checkLockedMemory(sys, standing, files),
    checkDescriptors(sys, cpuCount),
    node,
    checkPerfMaps(),
  ];
  return { type: 'doctor', version: 1, canRecord: canOpen && node.state === 'ok', checks };
}
