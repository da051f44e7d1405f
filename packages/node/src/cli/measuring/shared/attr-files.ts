/**
 * `PERF_TEST_ATTR=DIR`, by which perf is asked for what it opens (tools/perf/tests/attr.c): each event that
 * was opened gets a file in DIR with the arguments of its perf_event_open, and is used as always.
 *
 *     event-1-0-17        [event-1-0-17]     type, config and descriptor
 *                         fd=17
 *                         group_fd=-1 ...
 */
import { writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ATTR_KERNEL_NAMES, PERF_ATTR_SIZE_VER7, PERF_FLAG_FD_CLOEXEC } from '@counterpoint/core/abi';
import { printable } from '@counterpoint/core/base';
import { encodeAttrShortest, type PerfEventAttr, readAttr } from '@counterpoint/core/records';
import { realSys, type Sys } from '../../../linux/kernel/sys/index.ts';
import { UsageError } from '../../common/usage-error.ts';

const VARIABLE = 'PERF_TEST_ATTR';

/** That of perf 6.1, whose tests compare it. The kernel takes any size from the oldest on. */
const SIZE_BYTES = PERF_ATTR_SIZE_VER7;

/** In perf's order: fields, then flags, as their words stand in the attr. */
const FIELDS_BEFORE = ['type', 'size', 'config', 'samplePeriodOrFreq', 'sampleType', 'readFormat'] as const;
const FLAGS = [
  'disabled',
  'inherit',
  'pinned',
  'exclusive',
  'excludeUser',
  'excludeKernel',
  'excludeHv',
  'excludeIdle',
  'mmap',
  'comm',
  'freq',
  'inheritStat',
  'enableOnExec',
  'task',
  'watermark',
  'preciseIp',
  'mmapData',
  'sampleIdAll',
  'excludeHost',
  'excludeGuest',
  'excludeCallchainKernel',
  'excludeCallchainUser',
  'mmap2',
  'commExec',
  'contextSwitch',
  'writeBackward',
  'namespaces',
  'useClockId',
] as const;
const FIELDS_AFTER = [
  'wakeupEventsOrWatermark',
  'breakpointType',
  'config1',
  'config2',
  'branchSampleType',
  'sampleRegsUser',
  'sampleStackUser',
] as const;

/** The kernel to open events with: it writes the files where the variable asks for them. */
export async function sysOfAttrFiles(environment: NodeJS.ProcessEnv = process.env): Promise<{ sys?: Sys }> {
  const directory = environment[VARIABLE] ?? '';
  if (directory === '') return {};
  const facts = await stat(directory).catch(() => null);
  if (facts?.isDirectory() !== true)
    throw new UsageError(
      `${VARIABLE}: there is no directory ${printable(directory)}`,
      'Make it: each event that is opened gets a file there. Or unset the variable.',
    );
  return { sys: { ...realSys, perfEventOpen: openAndWrite(directory) } };
}

function openAndWrite(directory: string): Sys['perfEventOpen'] {
  return (bytes, pid, cpu, groupFd, flags = 0) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const wide = encodeAttrShortest(readAttr(view, 0, bytes.length, true), true, SIZE_BYTES);
    const fd = realSys.perfEventOpen(wide, pid, cpu, groupFd, flags);
    // On ourselves we only try what the kernel can do.
    if (pid === 0) return fd;
    try {
      const attr = readAttr(new DataView(wide.buffer), 0, wide.length, true);
      const name = `event-${attr.type}-${attr.config}-${fd.number}`;
      const call = { fd: fd.number, group_fd: groupFd?.number ?? -1, cpu, pid };
      const lines = [
        `[${name}]`,
        ...Object.entries(call).map(([key, value]) => `${key}=${value}`),
        `flags=${flags | PERF_FLAG_FD_CLOEXEC}`,
        ...attrLines(attr),
      ];
      writeFileSync(join(directory, name), `${lines.join('\n')}\n`);
    } catch (error) {
      fd.close();
      throw error;
    }
    return fd;
  };
}

function attrLines(attr: PerfEventAttr): string[] {
  const line = (name: string, value: number | bigint) => `${ATTR_KERNEL_NAMES[name]}=${value}`;
  return [
    ...FIELDS_BEFORE.map((name) => line(name, attr[name])),
    ...FLAGS.map((name) => line(name, attr.flags[name])),
    ...FIELDS_AFTER.map((name) => line(name, attr[name])),
  ];
}
