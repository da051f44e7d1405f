import { DETAIL_NONE } from './kinds.ts';
import { KIND_SHIFT } from './opcode-maps.ts';

/** What an opcode turned out to be: handed between the steps of one decoding, one for all. */
export class Stage {
  /** Table entry of the opcode, with what LOOK_CLOSER found out. */
  entry = 0;
  /** Where ModRM, or what else follows the opcode, is. */
  at = 0;
  detail = DETAIL_NONE;
  /** PREFIX_*; with EVEX map 4 what that prefix says. */
  prefixes = 0;
  /** Low half of REX, or REX2's second byte, with REX_PRESENT; 0 without. */
  rex = 0;
}

export function setKind(stage: Stage, kind: number, detail: number): void {
  stage.entry |= kind << KIND_SHIFT;
  stage.detail = detail;
}

/** TEST, the first two of group 3, has an immediate; NOT, NEG, MUL, DIV have none. */
export function addTestImmediate(stage: Stage, modrm: number, immediate: number): void {
  if ((modrm & 0x30) === 0) stage.entry |= immediate;
}
