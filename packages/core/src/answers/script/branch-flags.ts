import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_BRANCH,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_CONDITIONAL,
  PERF_IP_FLAG_IN_TX,
  PERF_IP_FLAG_INTERRUPT,
  PERF_IP_FLAG_INTR_DISABLE,
  PERF_IP_FLAG_INTR_TOGGLE,
  PERF_IP_FLAG_RETURN,
  PERF_IP_FLAG_SYSCALLRET,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
  PERF_IP_FLAG_TX_ABORT,
  PERF_IP_FLAG_VMENTRY,
  PERF_IP_FLAG_VMEXIT,
} from '../../format/abi/index.ts';

const LETTERS = 'bcrosyiABExghDt';
/** What stands behind a name. */
const BESIDE_NAMES = PERF_IP_FLAG_IN_TX | PERF_IP_FLAG_INTR_DISABLE | PERF_IP_FLAG_INTR_TOGGLE;

/** The names that perf prints for sets that are common. */
const NAMES: readonly (readonly [flags: number, name: string])[] = [
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL, 'call'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN, 'return'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CONDITIONAL, 'jcc'],
  [PERF_IP_FLAG_BRANCH, 'jmp'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_INTERRUPT, 'int'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN | PERF_IP_FLAG_INTERRUPT, 'iret'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_SYSCALLRET, 'syscall'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN | PERF_IP_FLAG_SYSCALLRET, 'sysret'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_ASYNC, 'async'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT, 'hw int'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TX_ABORT, 'tx abrt'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN, 'tr strt'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_END, 'tr end'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_VMENTRY, 'vmentry'],
  [PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_VMEXIT, 'vmexit'],
];

/** `call`, `tr end  syscall (x)`, or letters where there is no name. */
export function flagsText(flags: number): string {
  const rest = flags & ~BESIDE_NAMES;
  const beside = lettersOf(flags & BESIDE_NAMES);
  const whole = nameOf(rest);
  if (whole !== null) return joined(whole, beside);
  if ((rest & PERF_IP_FLAG_TRACE_BEGIN) !== 0) {
    const name = nameOf(rest & ~PERF_IP_FLAG_TRACE_BEGIN);
    if (name !== null) return joined(`tr strt ${name}`, beside);
  }
  if ((rest & PERF_IP_FLAG_TRACE_END) !== 0) {
    const name = nameOf(rest & ~PERF_IP_FLAG_TRACE_END);
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
