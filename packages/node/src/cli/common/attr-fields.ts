import { ATTR_FIELDS, ATTR_FLAGS, ATTR_KERNEL_NAMES, PERF_TYPE_BREAKPOINT } from '@counterpoint/core/abi';
import { encodeAttrShortest, type PerfEventAttr } from '@counterpoint/core/records';

const HEX_FIELDS: ReadonlySet<string> = new Set([
  'config',
  'config1',
  'config2',
  'config3',
  'config4',
  'sample_type',
  'read_format',
  'branch_sample_type',
  'sample_regs_user',
  'sample_regs_intr',
  'sig_data',
]);

/** Some words have a name of their own by what the attr is. */
function nameInUnion(name: string, { type, flags }: PerfEventAttr): string {
  if (name === 'sample_period' && flags.freq === 1) return 'sample_freq';
  if (name === 'wakeup_events' && flags.watermark === 1) return 'wakeup_watermark';
  if (type !== PERF_TYPE_BREAKPOINT) return name;
  return name === 'config1' ? 'bp_addr' : name === 'config2' ? 'bp_len' : name;
}

/** Every field by the kernel's name, in its order; the flag bits stand where their word is. */
export function attrFields(attr: PerfEventAttr): Record<string, number | string> {
  const fields: Record<string, number | string> = {};
  for (const [name] of ATTR_FIELDS) {
    if (name === 'flags') {
      for (const [flag] of ATTR_FLAGS) fields[ATTR_KERNEL_NAMES[flag]!] = attr.flags[flag];
      continue;
    }
    // The size is that of the bytes as they will be passed.
    const value = name === 'size' ? encodeAttrShortest(attr).length : attr[name as keyof PerfEventAttr];
    const kernelName = ATTR_KERNEL_NAMES[name]!;
    fields[nameInUnion(kernelName, attr)] =
      typeof value !== 'bigint'
        ? (value as number)
        : HEX_FIELDS.has(kernelName)
          ? `0x${value.toString(16)}`
          : value.toString();
  }
  return fields;
}
