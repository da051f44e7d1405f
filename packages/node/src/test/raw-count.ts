import { HARDWARE_EVENTS, PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import { encodeAttr, makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { type Fd, realSys } from '../linux/kernel/sys/index.ts';
import { launchHeld } from '../linux/kernel/target/index.ts';

/**
 * A hardware event as the kernel takes it, for tests that compare what is built on
 * top with the plain system calls.
 */
export function hardwareEvent(name: string, flags: Partial<PerfEventAttr['flags']> = {}): PerfEventAttr {
  const config = HARDWARE_EVENTS.indexOf(name);
  return makeAttr({ type: PERF_TYPE_HARDWARE, config: BigInt(config), flags: { disabled: 1, ...flags } });
}

/** The value of an event that was opened with an empty read format. */
export function readCount(fd: Fd): bigint {
  const value = new BigUint64Array(1);
  realSys.read(fd, new Uint8Array(value.buffer));
  return value[0]!;
}

/** What a command counts from its exec to its end, its children included. */
export async function countCommand(attr: PerfEventAttr, command: string[]): Promise<bigint> {
  const held = launchHeld(command, { stdio: ['ignore', 'ignore', 'inherit'] });
  const flags = { ...attr.flags, disabled: 1, enableOnExec: 1, inherit: 1 };
  using fd = realSys.perfEventOpen(encodeAttr({ ...attr, flags }), held.pid, -1, null);
  held.release();
  const { code } = await held.exited;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  return readCount(fd);
}
