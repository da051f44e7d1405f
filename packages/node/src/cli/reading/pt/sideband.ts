/**
 * Files of perf's records beside a raw trace: `--pevent:…` options, each file with
 * the settings given before it.
 */
import type { SidebandFile } from '@counterpoint/trace/intel-pt';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { parseFilePart, readFilePart } from './file.ts';
import { parseUnsigned } from './settings.ts';

export type PtSidebandName =
  | 'pevent'
  | 'pevent:primary'
  | 'pevent:secondary'
  | 'pevent:sample-type'
  | 'pevent:time-zero'
  | 'pevent:time-shift'
  | 'pevent:time-mult'
  | 'pevent:tsc-offset'
  | 'pevent:kernel-start';

const GROUP = 'Records beside the trace';
const U64 = 0xffff_ffff_ffff_ffffn;

export const PT_SIDEBAND_OPTIONS: readonly OptionRow<PtSidebandName>[] = [
  {
    long: 'pevent:primary',
    value: 'FILE[:FROM[-TO]]',
    help: 'kernel records of the traced processor; put the settings of a file before it',
    repeat: true,
    group: GROUP,
  },
  { long: 'pevent', value: 'FILE[:FROM[-TO]]', help: 'the same', repeat: true, group: GROUP },
  {
    long: 'pevent:secondary',
    value: 'FILE[:FROM[-TO]]',
    help: 'kernel records of other processors',
    repeat: true,
    group: GROUP,
  },
  { long: 'pevent:sample-type', value: 'N', help: 'perf_event_attr.sample_type', repeat: true, group: GROUP },
  {
    long: 'pevent:time-zero',
    value: 'N',
    help: 'perf_event_mmap_page.time_zero',
    repeat: true,
    group: GROUP,
  },
  { long: 'pevent:time-shift', value: 'N', help: '….time_shift', repeat: true, group: GROUP },
  { long: 'pevent:time-mult', value: 'N', help: '….time_mult (default: 1)', repeat: true, group: GROUP },
  {
    long: 'pevent:tsc-offset',
    value: 'N',
    help: 'records count N ticks earlier',
    repeat: true,
    group: GROUP,
  },
  {
    long: 'pevent:kernel-start',
    value: 'N',
    help: 'lowest address of the kernel (used by `pt flow`)',
    repeat: true,
    group: GROUP,
  },
];

export interface PtSidebandFile extends SidebandFile {
  /** Of the traced processor: its context switches are the trace's. */
  readonly primary: boolean;
  readonly kernelStart: bigint;
}

/** The files in the order given. */
export function sidebandFiles<Name extends string>(
  args: ParsedArguments<Name | PtSidebandName>,
): PtSidebandFile[] {
  const files: PtSidebandFile[] = [];
  let sampleType = 0n;
  let timeZero = 0n;
  let timeShift = 0;
  let timeMult = 1;
  let tscOffset = 0n;
  let kernelStart = 1n << 63n;
  for (const { name, value, shown } of args.given) {
    const number = (max: bigint) => parseUnsigned(value ?? '', shown, max);
    switch (name) {
      case 'pevent:sample-type':
        sampleType = number(U64);
        break;
      case 'pevent:time-zero':
        timeZero = number(U64);
        break;
      case 'pevent:time-shift':
        timeShift = Number(number(63n));
        break;
      case 'pevent:time-mult':
        timeMult = Number(number(0xffff_ffffn)) || 1;
        break;
      case 'pevent:tsc-offset':
        tscOffset = number(U64);
        break;
      case 'pevent:kernel-start':
        kernelStart = number(U64);
        break;
      case 'pevent':
      case 'pevent:primary':
      case 'pevent:secondary': {
        const part = parseFilePart(value ?? '');
        files.push({
          name: part.path,
          bytes: readFilePart(part),
          sampleType,
          clock: { timeZero, timeShift, timeMult },
          tscOffset,
          kernelStart,
          primary: name !== 'pevent:secondary',
        });
        break;
      }
    }
  }
  return files;
}
