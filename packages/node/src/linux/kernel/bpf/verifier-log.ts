import { checkText } from './checks.ts';

/**
 * What the verifier said, taken apart. Its log at level 1 is the path that it followed, instruction by
 * instruction, and then its reason (kernel/bpf/verifier.c):
 *
 *   11: (15) if r0 == 0x0 goto pc+4       ; R0=map_value(ks=4,vs=8)
 *   from 11 to 16: R0=0 R10=fp0
 *   16: (7b) *(u64 *)(r0 +0) = r2
 *   R2 !read_ok
 *   processed 13 insns (limit 1000000) ...
 *
 * Structural refusals come before any path and name the instruction in their text: `jump
 * out of range from insn 4 to 10`.
 */
export interface Verdict {
  /** The slot of the instruction that was refused; null where the log names none. */
  readonly instruction: number | null;
  /** As the verifier writes it: `(7b) *(u64 *)(r0 +0) = r2`. Null for structural refusals. */
  readonly disassembled: string | null;
  /** Its last words. */
  readonly reason: string;
  /**
   * What it knew of registers and stack before that instruction: `R0=0 R10=fp0`. Null where it did not say.
   */
  readonly registers: string | null;
}

const INSTRUCTION = /^(\d+): (\([0-9a-f]{2}\) [^;]*?)\s*(?:; (.*))?$/;
/** Levels 2 and up begin with a listing of live registers, which is no path: `11: 0.2....... (15) if ...`. */
const STATE = /^(?:from \d+ to \d+[^:]*|\d+): ((?:frame\d+: ?)?R\d.*)$/;
const STATISTICS =
  /^(?:processed \d+ insns|verification time|stack depth|peak_states|mark_precise|max_states|mark_read|func#\d+ @|Live regs|\(\d+\) (?:frame|live)|;)/;
const NAMED = /\binsn(?: #)? ?(\d+)/;

/** What the verifier's log says at its end: which instruction it refuses, and why. */
export function readVerdict(log: string): Verdict {
  checkText('readVerdict()', 'the log', log);
  let instruction: number | null = null;
  let disassembled: string | null = null;
  let registers: string | null = null;
  const state = new RegisterState();
  let words: string[] = [];
  for (const raw of log.split('\n')) {
    const line = raw.trimEnd();
    if (line === '' || STATISTICS.test(line)) continue;
    const step = INSTRUCTION.exec(line);
    if (step !== null) {
      instruction = Number(step[1]);
      disassembled = step[2]!;
      registers = state.text();
      state.change(disassembled, step[3] ?? '');
      words = [];
      continue;
    }
    const known = STATE.exec(line);
    if (known !== null) {
      state.replace(known[1]!);
      words = [];
      continue;
    }
    if (!/^\s*\d+: [.0-9]{10} /.test(line)) words.push(line.trim());
  }
  const reason = words.join('; ') || 'no reason was given';
  const named = NAMED.exec(reason)?.[1];
  if (named !== undefined && Number(named) !== instruction) {
    instruction = Number(named);
    disassembled = null;
    registers = null;
  }
  return { instruction, disassembled, reason, registers };
}

/**
 * `R1=ctx()`, `fp-8=0`, `R0=scalar(umax=7,var_off=(0x0; 0x7))`: names, and values whose
 * blanks are inside parentheses.
 */
const VALUE = /(R\d+(?:_\w+)?|fp-\d+)=((?:\((?:[^()]|\([^()]*\))*\)|[^\s(])*)/g;
const CALL = /^\(85\)/;
const DESTROYED_BY_CALLS = ['R1', 'R2', 'R3', 'R4', 'R5'];

/** What is known before the next instruction: a whole line of it, and then what each instruction changed. */
class RegisterState {
  readonly #values = new Map<string, string>();

  replace(text: string): void {
    this.#values.clear();
    this.#merge(text);
  }

  change(instruction: string, text: string): void {
    if (CALL.test(instruction)) for (const name of DESTROYED_BY_CALLS) this.#values.delete(name);
    this.#merge(text);
  }

  text(): string | null {
    if (this.#values.size === 0) return null;
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join(' ');
  }

  #merge(text: string): void {
    for (const [, name, value] of text.matchAll(VALUE)) this.#values.set(name!, value!);
  }
}

/** What the verifier's words mean for authors of programs, and what to do. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /!read_ok/,
    'The register has no value on some path to this place: helper calls destroy r1 to r5, and a jump may skip the instruction that sets it.',
  ],
  [
    /map_value_or_null|mem_or_null|ringbuf_mem_or_null/,
    'The helper may have found nothing: compare its result with 0 first, and go on only if it is not 0.',
  ],
  [
    /invalid mem access 'scalar'|invalid mem access 'inv'/,
    'The register holds a number, not a pointer: use the probe_read helpers to read memory of the kernel or of a process.',
  ],
  [
    /invalid access to map value|invalid access to memory|outside of the allowed memory range|unbounded memory access|min value is negative/,
    'The offset may be beyond the end: compare it with the limit, or mask it, before you add it.',
  ],
  [
    /invalid indirect read from stack|invalid read from stack|invalid stack|invalid unbounded variable-offset/,
    'The stack is 512 bytes below r10; write everything that a helper reads from it first, including padding.',
  ],
  [/invalid bpf_context access/, 'No field of this program type is at that offset, or not of that size.'],
  [
    /BPF_LDX uses reserved fields/,
    'Signed loads (i8, i16, i32) need Linux 6.6: use an unsigned load, and shift left and right.',
  ],
  [/unreachable insn/, 'No path leads there: remove it, or the jump over it.'],
  [
    /back-edge|infinite loop/,
    'The verifier must see that a loop ends: count in a register with a constant limit.',
  ],
  [
    /too large|too complex|too many states/,
    'The verifier gave up: use fewer branches, smaller loops, or several programs.',
  ],
  [/GPL/i, "Give the program the license 'GPL'."],
  [
    /cannot use helper|unknown func|invalid func/,
    'This kernel does not have that helper for programs of this type.',
  ],
  [
    /Unreleased reference|reference leak/,
    'A reserved record must be submitted or discarded on every path to the end.',
  ],
  [/last insn is not/, 'A program must end with exit, or with a jump back.'],
  [
    /R0 (?:!|has|unknown)|At program exit/,
    'r0 is what the program returns: give it a value that this type may return.',
  ],
  [
    /jump out of range|invalid jump/,
    'The jump leads out of the program, or into the middle of a 64-bit load.',
  ],
  [/cannot write into|frame pointer is read only/, 'That memory or register is read-only.'],
  [
    /not pointing to valid bpf_map|type=.* expected=map_ptr/,
    'Load the map into r1 again: r1 to r5 do not survive a helper call.',
  ],
];

/**
 * What helps against a refusal of the verifier, from the reason at the end of its log; empty where nothing is
 * known.
 */
export function adviceFor(reason: string): string {
  checkText('adviceFor()', 'the reason', reason);
  return ADVICE.find(([pattern]) => pattern.test(reason))?.[1] ?? '';
}
