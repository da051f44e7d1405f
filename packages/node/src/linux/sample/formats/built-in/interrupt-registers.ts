import { PERF_REGISTERS } from '@counterpoint/core/abi';

/** A register that a sample can have. */
export interface InterruptRegister {
  /** As `asm.loadContext` names it. */
  readonly name: string;
  /** In asm/perf_regs.h. */
  readonly number: number;
}

/** The registers that samples of this machine have, by rising number; none where they have no names here. */
export function interruptRegisters(): readonly InterruptRegister[] {
  const names = process.arch === 'x64' || process.arch === 'arm64' ? PERF_REGISTERS[process.arch] : [];
  return names.flatMap((name, number) => (name === null ? [] : [{ name, number }]));
}

/** `sample_regs_intr` for all of them. */
export function interruptRegisterMask(): bigint {
  return interruptRegisters().reduce((bits, { number }) => bits | (1n << BigInt(number)), 0n);
}
