/**
 * What a branch is, as perf's PERF_IP_FLAG_* say it (tools/perf/util/event.h);
 * printed as letters, in this order.
 */
import {
  DETAIL_INT,
  DETAIL_INT1,
  DETAIL_INT3,
  DETAIL_INTO,
  DETAIL_IRET,
  DETAIL_VMLAUNCH,
  DETAIL_VMRESUME,
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_RETURN,
  KIND_RETURN,
} from '../trace/index.ts';

export const FLAG_BRANCH = 1 << 0;
export const FLAG_CALL = 1 << 1;
export const FLAG_RETURN = 1 << 2;
export const FLAG_CONDITIONAL = 1 << 3;
export const FLAG_SYSCALL = 1 << 4;
export const FLAG_ASYNC = 1 << 5;
export const FLAG_INTERRUPT = 1 << 6;
export const FLAG_ABORT = 1 << 7;
export const FLAG_TRACE_BEGIN = 1 << 8;
export const FLAG_TRACE_END = 1 << 9;
export const FLAG_IN_TRANSACTION = 1 << 10;
export const FLAG_VM_ENTRY = 1 << 11;
export const FLAG_VM_EXIT = 1 << 12;
/** Interrupts are disabled; with FLAG_INTERRUPTS_CHANGE they were. */
export const FLAG_INTERRUPTS_OFF = 1 << 13;
export const FLAG_INTERRUPTS_CHANGE = 1 << 14;

const LETTERS = 'bcrosyiABExghDt';
/** What stands behind a name. */
const BESIDE_NAMES = FLAG_IN_TRANSACTION | FLAG_INTERRUPTS_OFF | FLAG_INTERRUPTS_CHANGE;

/** The names that perf prints for sets that are common. */
const NAMES: readonly (readonly [flags: number, name: string])[] = [
  [FLAG_BRANCH | FLAG_CALL, 'call'],
  [FLAG_BRANCH | FLAG_RETURN, 'return'],
  [FLAG_BRANCH | FLAG_CONDITIONAL, 'jcc'],
  [FLAG_BRANCH, 'jmp'],
  [FLAG_BRANCH | FLAG_CALL | FLAG_INTERRUPT, 'int'],
  [FLAG_BRANCH | FLAG_RETURN | FLAG_INTERRUPT, 'iret'],
  [FLAG_BRANCH | FLAG_CALL | FLAG_SYSCALL, 'syscall'],
  [FLAG_BRANCH | FLAG_RETURN | FLAG_SYSCALL, 'sysret'],
  [FLAG_BRANCH | FLAG_ASYNC, 'async'],
  [FLAG_BRANCH | FLAG_CALL | FLAG_ASYNC | FLAG_INTERRUPT, 'hw int'],
  [FLAG_BRANCH | FLAG_ABORT, 'tx abrt'],
  [FLAG_BRANCH | FLAG_TRACE_BEGIN, 'tr strt'],
  [FLAG_BRANCH | FLAG_TRACE_END, 'tr end'],
  [FLAG_BRANCH | FLAG_CALL | FLAG_VM_ENTRY, 'vmentry'],
  [FLAG_BRANCH | FLAG_CALL | FLAG_VM_EXIT, 'vmexit'],
];

/** `call`, `tr end  syscall (x)`, or letters where there is no name. */
export function flagsText(flags: number): string {
  const rest = flags & ~BESIDE_NAMES;
  const beside = lettersOf(flags & BESIDE_NAMES);
  const whole = nameOf(rest);
  if (whole !== null) return joined(whole, beside);
  if ((rest & FLAG_TRACE_BEGIN) !== 0) {
    const name = nameOf(rest & ~FLAG_TRACE_BEGIN);
    if (name !== null) return joined(`tr strt ${name}`, beside);
  }
  if ((rest & FLAG_TRACE_END) !== 0) {
    const name = nameOf(rest & ~FLAG_TRACE_END);
    if (name !== null) return joined(`tr end  ${name}`, beside);
  }
  return lettersOf(flags);
}

function lettersOf(flags: number): string {
  let letters = '';
  for (let bit = 0; bit < LETTERS.length; bit++) if ((flags & (1 << bit)) !== 0) letters += LETTERS[bit];
  return letters;
}

function nameOf(flags: number): string | null {
  return NAMES.find(([set]) => set === flags)?.[1] ?? null;
}

function joined(name: string, beside: string): string {
  return beside === '' ? name : `${name.padEnd(15)}${`(${beside})`.padStart(6)}`;
}

/** Of a branch instruction. */
export function flagsOf(kind: number, detail: number): number {
  switch (kind) {
    case KIND_CALL:
    case KIND_CALL_INDIRECT:
      return FLAG_BRANCH | FLAG_CALL;
    case KIND_RETURN:
      return FLAG_BRANCH | FLAG_RETURN;
    case KIND_CONDITIONAL:
      return FLAG_BRANCH | FLAG_CONDITIONAL;
    case KIND_FAR_CALL:
      switch (detail) {
        case DETAIL_INT:
        case DETAIL_INT3:
        case DETAIL_INT1:
        case DETAIL_INTO:
          return FLAG_BRANCH | FLAG_CALL | FLAG_INTERRUPT;
        default:
          return FLAG_BRANCH | FLAG_CALL | FLAG_SYSCALL;
      }
    case KIND_FAR_RETURN:
      if (detail === DETAIL_IRET) return FLAG_BRANCH | FLAG_RETURN | FLAG_INTERRUPT;
      if (detail === DETAIL_VMLAUNCH || detail === DETAIL_VMRESUME)
        return FLAG_BRANCH | FLAG_CALL | FLAG_VM_ENTRY;
      return FLAG_BRANCH | FLAG_RETURN | FLAG_SYSCALL;
    default:
      return FLAG_BRANCH;
  }
}
