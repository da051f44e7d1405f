import type { Check, KernelFiles } from '../probe/index.ts';
import { PtFacts } from './pt-facts.ts';

const NAME = 'Intel PT';
/** What else records the path of a program here. */
const INSTEAD =
  'record -e soft_pt//u writes the same packets by stepping the program, on any x86-64 machine.';

/** Capabilities of the PMU that are worth a word, by their files in sysfs. */
const ABILITIES = [
  ['psb_cyc', 'cycle counts (cyc)'],
  ['mtc', 'time packets (mtc)'],
  ['ptwrite', "the program's own values (ptw)"],
  ['power_event_trace', 'power events (pwr_evt)'],
  ['event_trace', 'interrupts and exceptions (event)'],
  ['tnt_disable', 'traces without branches taken or not (notnt)'],
] as const;

/** What the Intel PT of this machine can do, or why there is none. */
export function checkIntelPt(files: KernelFiles, architecture: string = process.arch): Check {
  const pt = new PtFacts(files);
  if (!pt.isPresent) return absent(files, architecture);
  const abilities = ABILITIES.filter(([file]) => pt.capability(file) === 1);
  const filters = pt.number('nr_addr_filters');
  const facts = {
    capabilities: abilities.map(([file]) => file),
    addressFilters: filters,
    topaMultipleEntries: pt.capability('topa_multiple_entries') === 1,
  };
  const words = [
    ...abilities.map(([, words]) => words),
    filters === 0 ? 'no address filters' : `${filters} address filters (--filter)`,
    ...(facts.topaMultipleEntries
      ? []
      : ['one block of memory per area, so that more is lost while an area is full']),
  ];
  return {
    name: NAME,
    state: 'ok',
    why: `record -e intel_pt//u traces, with ${words.join(', ')}`,
    fix: '',
    facts,
  };
}

function absent(files: KernelFiles, architecture: string): Check {
  const cpu = files.read('/proc/cpuinfo') ?? '';
  const vendor = /^vendor_id\s*: (\S+)/m.exec(cpu)?.[1] ?? null;
  const flags = new Set(/^flags\s*: (.*)$/m.exec(cpu)?.[1]?.split(' ') ?? []);
  const facts = { vendor, hasFlag: flags.has('intel_pt'), isVirtual: flags.has('hypervisor') };
  const [why, fix] = reasonOf(architecture, facts);
  return { name: NAME, state: 'absent', why, fix, facts };
}

function reasonOf(
  architecture: string,
  { vendor, hasFlag, isVirtual }: { vendor: string | null; hasFlag: boolean; isVirtual: boolean },
): [why: string, fix: string] {
  if (architecture !== 'x64') return ['processors of this architecture do not have it', ''];
  if (vendor !== 'GenuineIntel')
    return [`only processors of Intel have it, and this one is ${vendor ?? 'not known'}`, INSTEAD];
  if (hasFlag)
    return [
      'the processor has it, and the kernel offers no PMU intel_pt',
      `dmesg may say why (the virtual machines of another driver, or CONFIG_CPU_SUP_INTEL). ${INSTEAD}`,
    ];
  if (isVirtual)
    return [
      'this is a virtual machine, and its host does not give it to its guests',
      `Record on the host, or on a machine of its own: most hosts never give it (KVM only with kvm_intel.pt_mode=1). ${INSTEAD}`,
    ];
  return [
    'this processor does not tell of it (no intel_pt in /proc/cpuinfo)',
    `Intel's processors since Broadwell have it, unless the firmware switches it off. ${INSTEAD}`,
  ];
}
