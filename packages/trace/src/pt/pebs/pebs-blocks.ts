/**
 * A PEBS record inside a trace: blocks (BBP) of items (BIP), ended by BEP (SDM vol. 3, "PEBS output to Intel
 * PT", block types and item numbers). Imports nothing.
 */

// Types of blocks.
export const PEBS_REGISTERS = 1;
export const PEBS_BASIC = 4;
export const PEBS_MEMORY = 5;
/** Last branches: ten in each block, the newest first. */
export const PEBS_LBR_FIRST = 8;
export const PEBS_LBR_LAST = 10;
export const PEBS_XMM = 16;

/** Items have five bits. */
export const PEBS_ITEMS = 32;

// Items of PEBS_BASIC.
export const PEBS_BASIC_IP = 0;
export const PEBS_BASIC_COUNTERS = 1;
export const PEBS_BASIC_TSC = 2;

// Items of PEBS_MEMORY.
export const PEBS_MEMORY_ADDRESS = 0;
export const PEBS_MEMORY_AUX_INFO = 1;
export const PEBS_MEMORY_LATENCY = 2;
export const PEBS_MEMORY_TSX = 3;

/** Items of PEBS_REGISTERS, in their order. */
export const PEBS_REGISTER_NAMES: readonly string[] = [
  ...['FLAGS', 'IP', 'AX', 'CX', 'DX', 'BX', 'SP', 'BP', 'SI', 'DI'],
  ...['R8', 'R9', 'R10', 'R11', 'R12', 'R13', 'R14', 'R15'],
];
export const PEBS_REGISTER_IP = 1;
export const PEBS_REGISTER_AX = 2;

/** Items of a last branch: where from, where to, and more. */
export const PEBS_LBR_ITEMS = 3;
/** XMM0 to XMM15, the lower half first. */
export const PEBS_XMM_ITEMS = 32;

// What an LBR says of a branch, in the high half; the low 16 bits are cycles.
export const LBR_INFO_MISPREDICTED_HI = 1 << 31;
export const LBR_INFO_IN_TRANSACTION_HI = 1 << 30;
export const LBR_INFO_ABORT_HI = 1 << 29;
export const LBR_INFO_CYCLES = 0xffff;
