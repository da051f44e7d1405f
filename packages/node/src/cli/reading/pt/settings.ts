/** Options that say on what machine a raw trace was made: shared by the verbs `pt …`. */
import { readFileSync } from 'node:fs';
import { type Cpu, errataOf, NO_ERRATA, parseCpu, type TimeSettings } from '@counterpoint/trace/intel-pt';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';

export type PtSettingsName = 'cpu' | 'mtc-freq' | 'nom-freq' | 'cpuid-0x15.eax' | 'cpuid-0x15.ebx';

const GROUP = 'The machine that was traced';

export const PT_SETTINGS_OPTIONS: readonly OptionRow<PtSettingsName>[] = [
  {
    long: 'cpu',
    value: 'F/M[/S]|auto|none',
    help: 'the processor, as family/model/stepping, whose errata are worked around; auto: this one; none: no errata (default)',
    group: GROUP,
  },
  { long: 'mtc-freq', value: 'N', help: 'MTC frequency (IA32_RTIT_CTL[17:14])', group: GROUP },
  { long: 'nom-freq', value: 'N', help: 'nominal frequency (MSR_PLATFORM_INFO[15:8])', group: GROUP },
  {
    long: 'cpuid-0x15.eax',
    value: 'N',
    help: 'CPUID leaf 0x15: TSC ticks per crystal tick are ebx / eax',
    group: GROUP,
  },
  { long: 'cpuid-0x15.ebx', value: 'N', help: 'the same', group: GROUP },
];

export interface PtSettings extends TimeSettings {
  /** A processor was named that is in no table: decoding goes on without errata, and that is worth saying. */
  readonly unknownCpu: boolean;
}

export function ptSettings<Name extends string>(args: ParsedArguments<Name | PtSettingsName>): PtSettings {
  const cpuText = args.string('cpu', 'none');
  const cpu = cpuText === 'none' ? null : cpuText === 'auto' ? thisCpu() : parseCpu(cpuText);
  if (cpu === null && cpuText !== 'none')
    throw args.refuse('cpu', 'family/model[/stepping] such as 6/158 or 6/0x9e/10, auto or none');
  const errata = cpu === null ? NO_ERRATA : errataOf(cpu);
  return {
    mtcFreq: Number(unsigned(args, 'mtc-freq', 15n)),
    nomFreq: Number(unsigned(args, 'nom-freq', 0xffn)),
    cpuid0x15Eax: Number(unsigned(args, 'cpuid-0x15.eax', 0xffff_ffffn)),
    cpuid0x15Ebx: Number(unsigned(args, 'cpuid-0x15.ebx', 0xffff_ffffn)),
    errata: errata ?? NO_ERRATA,
    unknownCpu: errata === null,
  };
}

/** The processor of this machine, where it is Intel's: others have no Intel PT. */
function thisCpu(): Cpu {
  const text = readFileSync('/proc/cpuinfo', 'utf8');
  const field = (name: string) => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(text)?.[1];
  if (field('vendor_id') !== 'GenuineIntel')
    throw new UsageError(
      '--cpu auto: this machine has no Intel processor',
      'Give the traced processor: --cpu F/M[/S].',
    );
  return {
    family: Number(field('cpu family')),
    model: Number(field('model')),
    stepping: Number(field('stepping')),
  };
}

/** The value of an option as an unsigned number, decimal or with 0x; 0 where it is not given. */
export function unsigned<Name extends string>(args: ParsedArguments<Name>, name: Name, max: bigint): bigint {
  const text = args.string(name);
  return text === undefined ? 0n : parseUnsigned(text, args.shown(name), max);
}

export function parseUnsigned(text: string, shown: string, max: bigint): bigint {
  const value = /^(0x[0-9a-fA-F]+|[0-9]+)$/.test(text) ? BigInt(text) : -1n;
  if (value >= 0n && value <= max) return value;
  throw new UsageError(`${shown} expects a whole number from 0 to ${max}, decimal or with 0x, not '${text}'`);
}
