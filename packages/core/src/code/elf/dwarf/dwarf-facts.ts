/**
 * DWARF facts for line tables, entries, attributes and forms (DWARF 5, chapter 7; older versions where
 * they differ, and what GNU tools wrote before a standard said how). Imports nothing.
 */

/**
 * An initial length that announces the 64-bit format; from DWARF_LENGTH_RESERVED on, lengths are no lengths.
 */
export const DWARF_LENGTH_64 = 0xffff_ffff;
export const DWARF_LENGTH_RESERVED = 0xffff_fff0;

export const DW_LNS_EXTENDED = 0;
export const DW_LNS_COPY = 1;
export const DW_LNS_ADVANCE_PC = 2;
export const DW_LNS_ADVANCE_LINE = 3;
export const DW_LNS_SET_FILE = 4;
export const DW_LNS_SET_COLUMN = 5;
export const DW_LNS_NEGATE_STMT = 6;
export const DW_LNS_SET_BASIC_BLOCK = 7;
export const DW_LNS_CONST_ADD_PC = 8;
export const DW_LNS_FIXED_ADVANCE_PC = 9;
export const DW_LNS_SET_PROLOGUE_END = 10;
export const DW_LNS_SET_EPILOGUE_BEGIN = 11;
export const DW_LNS_SET_ISA = 12;

export const DW_LNE_END_SEQUENCE = 1;
export const DW_LNE_SET_ADDRESS = 2;
export const DW_LNE_DEFINE_FILE = 3;

export const DW_LNCT_PATH = 1;
export const DW_LNCT_DIRECTORY_INDEX = 2;

export const DW_UT_TYPE = 2;
export const DW_UT_PARTIAL = 3;
export const DW_UT_SKELETON = 4;
export const DW_UT_SPLIT_COMPILE = 5;
export const DW_UT_SPLIT_TYPE = 6;

export const DW_TAG_COMPILE_UNIT = 0x11;
export const DW_TAG_INLINED_SUBROUTINE = 0x1d;
export const DW_TAG_MODULE = 0x1e;
export const DW_TAG_SUBPROGRAM = 0x2e;
export const DW_TAG_NAMESPACE = 0x39;
export const DW_TAG_PARTIAL_UNIT = 0x3c;
export const DW_TAG_SKELETON_UNIT = 0x4a;

export const DW_AT_SIBLING = 0x01;
export const DW_AT_NAME = 0x03;
export const DW_AT_STMT_LIST = 0x10;
export const DW_AT_LOW_PC = 0x11;
export const DW_AT_HIGH_PC = 0x12;
export const DW_AT_COMP_DIR = 0x1b;
export const DW_AT_ABSTRACT_ORIGIN = 0x31;
export const DW_AT_SPECIFICATION = 0x47;
export const DW_AT_RANGES = 0x55;
export const DW_AT_CALL_COLUMN = 0x57;
export const DW_AT_CALL_FILE = 0x58;
export const DW_AT_CALL_LINE = 0x59;
export const DW_AT_LINKAGE_NAME = 0x6e;
export const DW_AT_STR_OFFSETS_BASE = 0x72;
export const DW_AT_ADDR_BASE = 0x73;
export const DW_AT_RNGLISTS_BASE = 0x74;
export const DW_AT_DWO_NAME = 0x76;
/** Before version 4 had a name for it. */
export const DW_AT_MIPS_LINKAGE_NAME = 0x2007;
/** Split debug information before version 5 (GNU extension "DebugFission"). */
export const DW_AT_GNU_DWO_NAME = 0x2130;
export const DW_AT_GNU_DWO_ID = 0x2131;
export const DW_AT_GNU_RANGES_BASE = 0x2132;
export const DW_AT_GNU_ADDR_BASE = 0x2133;

export const DW_FORM_ADDR = 0x01;
export const DW_FORM_BLOCK2 = 0x03;
export const DW_FORM_BLOCK4 = 0x04;
export const DW_FORM_DATA2 = 0x05;
export const DW_FORM_DATA4 = 0x06;
export const DW_FORM_DATA8 = 0x07;
export const DW_FORM_STRING = 0x08;
export const DW_FORM_BLOCK = 0x09;
export const DW_FORM_BLOCK1 = 0x0a;
export const DW_FORM_DATA1 = 0x0b;
export const DW_FORM_FLAG = 0x0c;
export const DW_FORM_SDATA = 0x0d;
export const DW_FORM_STRP = 0x0e;
export const DW_FORM_UDATA = 0x0f;
export const DW_FORM_REF_ADDR = 0x10;
export const DW_FORM_REF1 = 0x11;
export const DW_FORM_REF2 = 0x12;
export const DW_FORM_REF4 = 0x13;
export const DW_FORM_REF8 = 0x14;
export const DW_FORM_REF_UDATA = 0x15;
export const DW_FORM_INDIRECT = 0x16;
export const DW_FORM_SEC_OFFSET = 0x17;
export const DW_FORM_EXPRLOC = 0x18;
export const DW_FORM_FLAG_PRESENT = 0x19;
export const DW_FORM_STRX = 0x1a;
export const DW_FORM_ADDRX = 0x1b;
export const DW_FORM_REF_SUP4 = 0x1c;
export const DW_FORM_STRP_SUP = 0x1d;
export const DW_FORM_DATA16 = 0x1e;
export const DW_FORM_LINE_STRP = 0x1f;
export const DW_FORM_REF_SIG8 = 0x20;
export const DW_FORM_IMPLICIT_CONST = 0x21;
export const DW_FORM_LOCLISTX = 0x22;
export const DW_FORM_RNGLISTX = 0x23;
export const DW_FORM_REF_SUP8 = 0x24;
export const DW_FORM_STRX1 = 0x25;
export const DW_FORM_STRX2 = 0x26;
export const DW_FORM_STRX3 = 0x27;
export const DW_FORM_STRX4 = 0x28;
export const DW_FORM_ADDRX1 = 0x29;
export const DW_FORM_ADDRX2 = 0x2a;
export const DW_FORM_ADDRX3 = 0x2b;
export const DW_FORM_ADDRX4 = 0x2c;
/** Split debug information before version 5. */
export const DW_FORM_GNU_ADDR_INDEX = 0x1f01;
export const DW_FORM_GNU_STR_INDEX = 0x1f02;
/** GNU extensions that dwz writes: as REF_SUP and STRP_SUP. */
export const DW_FORM_GNU_REF_ALT = 0x1f20;
export const DW_FORM_GNU_STRP_ALT = 0x1f21;

/** Entries of `.debug_rnglists` (section 7.25). */
export const DW_RLE_END_OF_LIST = 0;
export const DW_RLE_BASE_ADDRESSX = 1;
export const DW_RLE_STARTX_ENDX = 2;
export const DW_RLE_STARTX_LENGTH = 3;
export const DW_RLE_OFFSET_PAIR = 4;
export const DW_RLE_BASE_ADDRESS = 5;
export const DW_RLE_START_END = 6;
export const DW_RLE_START_LENGTH = 7;
