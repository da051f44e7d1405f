import type { ToolEvent } from '@counterpoint/core/events';
import type { ProcessTimes, Sys } from '../../kernel/sys/index.ts';
import { readProc } from '../../kernel/target/index.ts';

/**
 * CPU time of the command, known once it has ended. The process was a shell that held the command
 * before (`launchHeld`): what that had used by then is taken off, in the proportion of user to system
 * time that the process has in the end.
 */
export class CommandTimes {
  readonly #sys: Sys;
  readonly #before: ProcessTimes;
  #holderNs = 0n;

  constructor(sys: Sys) {
    this.#sys = sys;
    this.#before = sys.childrenTimes();
  }

  /** The command is about to be released. */
  markRelease(pid: number): void {
    this.#holderNs = cpuTimeNs(pid);
  }

  read(): ProcessTimes {
    const now = this.#sys.childrenTimes();
    const userNs = now.userNs - this.#before.userNs;
    const systemNs = now.systemNs - this.#before.systemNs;
    const totalNs = userNs + systemNs;
    if (totalNs <= this.#holderNs) return { userNs: 0n, systemNs: 0n };
    const ownNs = totalNs - this.#holderNs;
    return { userNs: (userNs * ownNs) / totalNs, systemNs: (systemNs * ownNs) / totalNs };
  }
}

/** `schedstat` begins with the time on CPUs in ns, where the kernel keeps it (CONFIG_SCHED_INFO). */
function cpuTimeNs(pid: number): bigint {
  const match = /^\d+/.exec(readProc(`${pid}/schedstat`) ?? '');
  return match === null ? 0n : BigInt(match[0]);
}

/** The times as the events that stand for them. */
export function toolTime(tool: ToolEvent, { userNs, systemNs }: ProcessTimes, elapsedNs: bigint): bigint {
  return { duration_time: elapsedNs, user_time: userNs, system_time: systemNs }[tool];
}
