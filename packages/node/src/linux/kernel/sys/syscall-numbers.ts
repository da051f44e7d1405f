import { CounterpointError } from '@counterpoint/core/base';

export interface SyscallNumbers {
  perfEventOpen: number;
  capget: number;
  bpf: number;
}

/**
 * Numbers of calls that the C library has no function for (asm/unistd_64.h; asm-generic/unistd.h for arm64).
 */
const NUMBERS: Readonly<Record<string, SyscallNumbers>> = {
  x64: { perfEventOpen: 298, capget: 125, bpf: 321 },
  arm64: { perfEventOpen: 241, capget: 90, bpf: 280 },
};

export function syscallNumbers(arch: string = process.arch): SyscallNumbers {
  const numbers = NUMBERS[arch];
  if (numbers === undefined) {
    throw new CounterpointError(
      'ERR_ARCHITECTURE',
      `recording is not supported on ${arch}`,
      'Record on x64 or arm64; reading and reporting work everywhere.',
    );
  }
  return numbers;
}
