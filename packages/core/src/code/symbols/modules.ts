/** A loaded kernel module of `/proc/modules`. */
export interface KernelModule {
  name: string;
  sizeBytes: number;
  /** Signed, as everywhere here; 0 where this user may not see it. */
  address: number;
}

/**
 * `/proc/modules`, one line each: name, size, references, users, state, address.
 *
 *     ext4 1105920 2 - Live 0xffffffffc0211000
 */
export function parseModules(text: string): KernelModule[] {
  const modules: KernelModule[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    const size = Number(fields[1]);
    const address = /^0x([0-9a-f]{1,16})$/.exec(fields[5] ?? '')?.[1];
    if (fields[0] === '' || !Number.isSafeInteger(size) || size < 0 || address === undefined) continue;
    modules.push({
      name: fields[0]!,
      sizeBytes: size,
      address: Number(BigInt.asIntN(64, BigInt(`0x${address}`))),
    });
  }
  return modules;
}
