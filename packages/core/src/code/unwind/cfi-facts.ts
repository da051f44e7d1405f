/**
 * Call frame information: the numbers of DWARF 5, sections 6.4 and 7.24, and of
 * `.eh_frame` (LSB 5.0, section 10.6).
 */

/** The low six bits of these three hold their first operand. */
export const DW_CFA_ADVANCE_LOC = 0x40;
export const DW_CFA_OFFSET = 0x80;
export const DW_CFA_RESTORE = 0xc0;
export const DW_CFA_HIGH_BITS = 0xc0;

export const DW_CFA_NOP = 0x00;
export const DW_CFA_SET_LOC = 0x01;
export const DW_CFA_ADVANCE_LOC1 = 0x02;
export const DW_CFA_ADVANCE_LOC2 = 0x03;
export const DW_CFA_ADVANCE_LOC4 = 0x04;
export const DW_CFA_OFFSET_EXTENDED = 0x05;
export const DW_CFA_RESTORE_EXTENDED = 0x06;
export const DW_CFA_UNDEFINED = 0x07;
export const DW_CFA_SAME_VALUE = 0x08;
export const DW_CFA_REGISTER = 0x09;
export const DW_CFA_REMEMBER_STATE = 0x0a;
export const DW_CFA_RESTORE_STATE = 0x0b;
export const DW_CFA_DEF_CFA = 0x0c;
export const DW_CFA_DEF_CFA_REGISTER = 0x0d;
export const DW_CFA_DEF_CFA_OFFSET = 0x0e;
export const DW_CFA_DEF_CFA_EXPRESSION = 0x0f;
export const DW_CFA_EXPRESSION = 0x10;
export const DW_CFA_OFFSET_EXTENDED_SF = 0x11;
export const DW_CFA_DEF_CFA_SF = 0x12;
export const DW_CFA_DEF_CFA_OFFSET_SF = 0x13;
export const DW_CFA_VAL_OFFSET = 0x14;
export const DW_CFA_VAL_OFFSET_SF = 0x15;
export const DW_CFA_VAL_EXPRESSION = 0x16;
/**
 * Arm: the return address begins or ends to be signed, with and without the PC as part of it. SPARC: windows.
 */
export const DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c;
export const DW_CFA_AARCH64_NEGATE_RA_STATE = 0x2d;
export const DW_CFA_GNU_ARGS_SIZE = 0x2e;
export const DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f;

/** Pointer encodings: the low four bits are the form, the next three what it counts from. */
export const DW_EH_PE_OMIT = 0xff;
export const DW_EH_PE_ABSPTR = 0x00;
export const DW_EH_PE_ULEB128 = 0x01;
export const DW_EH_PE_UDATA2 = 0x02;
export const DW_EH_PE_UDATA4 = 0x03;
export const DW_EH_PE_UDATA8 = 0x04;
export const DW_EH_PE_SLEB128 = 0x09;
export const DW_EH_PE_SDATA2 = 0x0a;
export const DW_EH_PE_SDATA4 = 0x0b;
export const DW_EH_PE_SDATA8 = 0x0c;
export const DW_EH_PE_FORM_MASK = 0x0f;
export const DW_EH_PE_PCREL = 0x10;
export const DW_EH_PE_DATAREL = 0x30;
export const DW_EH_PE_BASE_MASK = 0x70;
export const DW_EH_PE_INDIRECT = 0x80;

/** Operations of DWARF expressions that frame information can use (section 7.7.1). */
export const DW_OP_ADDR = 0x03;
export const DW_OP_DEREF = 0x06;
export const DW_OP_CONST1U = 0x08;
export const DW_OP_CONST1S = 0x09;
export const DW_OP_CONST2U = 0x0a;
export const DW_OP_CONST2S = 0x0b;
export const DW_OP_CONST4U = 0x0c;
export const DW_OP_CONST4S = 0x0d;
export const DW_OP_CONST8U = 0x0e;
export const DW_OP_CONST8S = 0x0f;
export const DW_OP_CONSTU = 0x10;
export const DW_OP_CONSTS = 0x11;
export const DW_OP_DUP = 0x12;
export const DW_OP_DROP = 0x13;
export const DW_OP_OVER = 0x14;
export const DW_OP_PICK = 0x15;
export const DW_OP_SWAP = 0x16;
export const DW_OP_ROT = 0x17;
export const DW_OP_ABS = 0x19;
export const DW_OP_AND = 0x1a;
export const DW_OP_DIV = 0x1b;
export const DW_OP_MINUS = 0x1c;
export const DW_OP_MOD = 0x1d;
export const DW_OP_MUL = 0x1e;
export const DW_OP_NEG = 0x1f;
export const DW_OP_NOT = 0x20;
export const DW_OP_OR = 0x21;
export const DW_OP_PLUS = 0x22;
export const DW_OP_PLUS_UCONST = 0x23;
export const DW_OP_SHL = 0x24;
export const DW_OP_SHR = 0x25;
export const DW_OP_SHRA = 0x26;
export const DW_OP_XOR = 0x27;
export const DW_OP_BRA = 0x28;
export const DW_OP_EQ = 0x29;
export const DW_OP_GE = 0x2a;
export const DW_OP_GT = 0x2b;
export const DW_OP_LE = 0x2c;
export const DW_OP_LT = 0x2d;
export const DW_OP_NE = 0x2e;
export const DW_OP_SKIP = 0x2f;
export const DW_OP_LIT0 = 0x30;
export const DW_OP_BREG0 = 0x70;
export const DW_OP_BREGX = 0x92;
export const DW_OP_DEREF_SIZE = 0x94;
export const DW_OP_NOP = 0x96;
