import { toHex } from '../../base/index.ts';
import { PERF_REGISTERS } from '../../format/abi/index.ts';

/** By the name of the architecture in a recording's header. */
const ARCHITECTURES: Readonly<Record<string, keyof typeof PERF_REGISTERS>> = {
  x86_64: 'x64',
  i386: 'x64',
  i686: 'x64',
  aarch64: 'arm64',
  arm64: 'arm64',
};
const WORD_BYTES = 8;

/**
 * perf's form: ` ABI:2    AX:0x7f4b    IP:0x7f4b6595a69e `. Registers that this version has no name for have
 * their number. Empty where the sample has none.
 */
export function registersText(
  view: DataView,
  littleEndian: boolean,
  { abi, offset, mask }: { abi: number; offset: number; mask: bigint },
  arch: string | undefined,
): string {
  if (abi === 0) return '';
  const names = PERF_REGISTERS[ARCHITECTURES[arch ?? ''] ?? 'x64'];
  let text = ` ABI:${abi} `;
  let at = offset;
  for (let register = 0; register < 64; register++) {
    if ((mask & (1n << BigInt(register))) === 0n) continue;
    const [lo, hi] = littleEndian ? [at, at + 4] : [at + 4, at];
    const value = toHex(view.getUint32(lo, littleEndian), view.getUint32(hi, littleEndian));
    const name = names[register] ?? `r${register}`;
    text += `${name.toUpperCase().padStart(5)}:0x${value} `;
    at += WORD_BYTES;
  }
  return text;
}

/** `4K`, `2M`, `1G`, as perf says it; `N/A` where the kernel did not know. */
export function pageSizeText(sizeLo: number, sizeHi: number): string {
  let size = sizeHi * 2 ** 32 + sizeLo;
  if (size === 0) return 'N/A';
  let unit = 0;
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size = Math.floor(size / 1024);
  return `${size}${UNITS[unit]}`;
}

const UNITS = ['B', 'K', 'M', 'G'] as const;
