import {
  DETAIL_NAMES,
  decodeInstruction,
  Instruction,
  KIND_OTHER,
  LONGEST_INSTRUCTION,
  MODE_32,
  MODE_64,
} from '@counterpoint/trace/instructions';

/** What a thread executes next. */
export interface NextInstruction {
  readonly pc: number;
  /** In bytes; 0 where it is not known. */
  readonly length: number;
  readonly kind: number;
  /** In a segment of 32 bits. */
  readonly is32Bit: boolean;
  readonly isRepeated: boolean;
  /** It enters the kernel, and may never come back. */
  readonly isSystemCall: boolean;
  /** By another instruction than `syscall`: its number is another one. */
  readonly isOldCall: boolean;
  /** A hypervisor executes it. */
  readonly isCpuid: boolean;
  /** Its bytes could be read. */
  readonly isKnown: boolean;
}

interface Known extends NextInstruction {
  readonly bytes: Uint8Array;
}

/** How many are kept. Then all are forgotten, and the most used come back at once. */
const MOST_KNOWN = 200_000;
const SYSTEM_CALLS: ReadonlySet<string> = /* @__PURE__ */ new Set(['syscall', 'sysenter', 'int']);
const LEGACY_PREFIXES: ReadonlySet<number> = /* @__PURE__ */ new Set([
  0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
]);

/**
 * Instructions by address. The bytes are compared each time, so code that was changed
 * is decoded again: also between two steps.
 */
export class InstructionCache {
  readonly #known = new Map<number, Known>();
  readonly #decoded = new Instruction();

  /** `bytes` are those at `pc`, as many as could be read. */
  at(pc: number, bytes: Uint8Array, is32Bit: boolean): NextInstruction {
    const known = this.#known.get(pc);
    if (known !== undefined && known.is32Bit === is32Bit && beginsWith(bytes, known.bytes)) return known;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    const fresh = this.#decode(pc, bytes, is32Bit);
    this.#known.set(pc, fresh);
    return fresh;
  }

  #decode(pc: number, bytes: Uint8Array, is32Bit: boolean): Known {
    const decoded = this.#decoded;
    const length = decodeInstruction(bytes, 0, bytes.length, is32Bit ? MODE_32 : MODE_64, decoded);
    const isKnown = length > 0;
    const { kind, detail } = decoded;
    return {
      pc,
      is32Bit,
      isKnown,
      length: isKnown ? length : 0,
      bytes: bytes.slice(0, isKnown ? length : LONGEST_INSTRUCTION),
      kind: isKnown ? kind : KIND_OTHER,
      isRepeated: isKnown && isRepeatedString(bytes, length, is32Bit),
      isSystemCall: isKnown && SYSTEM_CALLS.has(DETAIL_NAMES[detail]!),
      isOldCall: isKnown && DETAIL_NAMES[detail] !== 'syscall',
      isCpuid: isKnown && bytes[0] === 0x0f && bytes[1] === 0xa2,
    };
  }
}

function beginsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  if (start.length === 0 || bytes.length < start.length) return false;
  for (let at = 0; at < start.length; at++) if (bytes[at] !== start[at]) return false;
  return true;
}

/** INS, OUTS, MOVS, CMPS, STOS, LODS or SCAS behind REP, REPE or REPNE. */
export function isRepeatedString(bytes: Uint8Array, length: number, is32Bit: boolean): boolean {
  let isRepeated = false;
  let at = 0;
  for (; at < length && LEGACY_PREFIXES.has(bytes[at]!); at++)
    if (bytes[at] === 0xf2 || bytes[at] === 0xf3) isRepeated = true;
  if (!is32Bit && (bytes[at]! & 0xf0) === 0x40) at++;
  const opcode = bytes[at]!;
  const isString =
    (opcode >= 0x6c && opcode <= 0x6f) ||
    (opcode >= 0xa4 && opcode <= 0xa7) ||
    (opcode >= 0xaa && opcode <= 0xaf);
  return isRepeated && isString && at < length;
}
