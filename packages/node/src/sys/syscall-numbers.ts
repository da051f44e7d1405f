import { CounterpointError } from '@counterpoint/core/base';

/** Numbers of calls that the C library has no function for (asm/unistd_64.h; asm-generic/unistd.h for arm64). */
const NUMBERS: Readonly<Record<string, { perfEventOpen: number; capget: number }>> = {
  x64: { perfEventOpen: 298, capget: 125 },
  arm64: { perfEventOpen: 241, capget: 90 },
};

export function syscallNumbers(arch: string = process.arch): { perfEventOpen: number; capget: number } {
  const numbers = NUMBERS[arch];
  if (numbers === undefined) {
    throw new CounterpointError(
      'ERR_ARCHITECTURE',
      `recording is not known on ${arch}`,
      'Record on x64 or arm64; reading and reporting work everywhere.',
    );
  }
  return numbers;
}
