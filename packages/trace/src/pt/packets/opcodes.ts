/**
 * Facts of Intel PT's packets: headers, masks, shifts, sizes (SDM vol. 3, "Intel Processor Trace",
 * "Packet Definitions"). This file imports nothing. The reader, the writer, the dumper and the tests have
 * no such numbers of their own.
 */

// First bytes that stand for themselves.
export const PT_PAD = 0x00;
export const PT_EXTENDED = 0x02;
export const PT_TSC = 0x19;
export const PT_MTC = 0x59;
export const PT_MODE = 0x99;
export const PT_TRIG = 0xd9;

// First bytes that match in the low five bits; the top three give the IP compression.
export const PT_IP_MASK = 0x1f;
export const PT_TIP_PGD = 0x01;
export const PT_TIP = 0x0d;
export const PT_TIP_PGE = 0x11;
export const PT_FUP = 0x1d;
export const PT_COMPRESSION_SHIFT = 5;

// CYC matches in the low two bits: `vvvvve11`, then bytes `vvvvvvve` while `e` is set.
export const PT_CYC = 0x03;
export const PT_CYC_MASK = 0x03;
export const PT_CYC_MORE = 0x04;
export const PT_CYC_SHIFT = 3;
export const PT_CYC_FIRST_BITS = 5;
export const PT_CYC_NEXT_MORE = 0x01;
export const PT_CYC_NEXT_SHIFT = 1;
export const PT_CYC_NEXT_BITS = 7;

// Any other even byte is TNT-8: `..1bbb..0`, the highest set bit ends the run of
// outcomes, the oldest next to it.
export const PT_TNT8_MASK = 0x01;
export const PT_TNT8_SHIFT = 1;
export const PT_TNT8_MAX_BITS = 6;
export const PT_TNT64_MAX_BITS = 47;

// Second bytes, after PT_EXTENDED.
export const PT_EXT_CBR = 0x03;
export const PT_EXT_CFE = 0x13;
export const PT_EXT_PSBEND = 0x23;
export const PT_EXT_BEP = 0x33;
export const PT_EXT_PIP = 0x43;
export const PT_EXT_EVD = 0x53;
export const PT_EXT_BBP = 0x63;
export const PT_EXT_TMA = 0x73;
export const PT_EXT_PSB = 0x82;
export const PT_EXT_STOP = 0x83;
export const PT_EXT_TNT64 = 0xa3;
export const PT_EXT_BEP_IP = 0xb3;
export const PT_EXT_EXT2 = 0xc3;
export const PT_EXT_OVF = 0xf3;
export const PT_EXT_VMCS = 0xc8;
export const PT_EXT_EXSTOP = 0x62;
export const PT_EXT_EXSTOP_IP = 0xe2;
export const PT_EXT_MWAIT = 0xc2;
export const PT_EXT_PWRE = 0x22;
export const PT_EXT_PWRX = 0xa2;
/** PTW matches in the low five bits. Two bits of size and the IP bit follow. */
export const PT_EXT_PTW = 0x12;
export const PT_EXT_PTW_MASK = 0x1f;
export const PT_PTW_SIZE_SHIFT = 5;
export const PT_PTW_SIZE_MASK = 0x03;
export const PT_PTW_IP = 0x80;

/** Third byte, after PT_EXTENDED and PT_EXT_EXT2. */
export const PT_EXT2_MNT = 0x88;

// IP compression: payload bytes, and what they replace of the last IP.
/** `Packet.type` of TIP, TIP.PGE, TIP.PGD and FUP: no address is given. (SDM, "IP Compression".) */
export const PT_IP_SUPPRESSED = 0;
/** The payload is the low 16 bits. The others come from the last IP. */
export const PT_IP_UPDATE_16 = 1;
/** The payload is the low 32 bits. The others come from the last IP. */
export const PT_IP_UPDATE_32 = 2;
/** The payload has 48 bits. All higher bits are copies of bit 47. */
export const PT_IP_SEXT_48 = 3;
/** The payload is the low 48 bits. The others come from the last IP. */
export const PT_IP_UPDATE_48 = 4;
/** The payload is the whole address. */
export const PT_IP_FULL = 6;
/** Payload bytes by compression; -1 is reserved. */
export const PT_IP_BYTES: Int8Array = Int8Array.of(0, 2, 4, 6, 6, -1, 8, -1);

// MODE: the leaf in the top three bits.
export const PT_MODE_LEAF_MASK = 0xe0;
export const PT_MODE_LEAF_EXEC = 0x00;
export const PT_MODE_LEAF_TSX = 0x20;
/** Flag of MODE.Exec: 64-bit code (CS.L and IA32_EFER.LMA). */
export const PT_MODE_EXEC_CS_L = 0x01;
/** Flag of MODE.Exec: 32-bit code (CS.D); with neither flag, 16-bit code. */
export const PT_MODE_EXEC_CS_D = 0x02;
/** Flag of MODE.Exec: interrupts are enabled (RFLAGS.IF). Only with event trace. */
export const PT_MODE_EXEC_IF = 0x04;
/** Flag of MODE.TSX: in a transaction from here on. */
export const PT_MODE_TSX_INTX = 0x01;
/** Flag of MODE.TSX: a transaction was aborted. Neither flag: it was committed. */
export const PT_MODE_TSX_ABRT = 0x02;

// PIP: bit 0 is "non-root", the rest CR3 from bit 5 on.
export const PT_PIP_NON_ROOT = 0x01;
export const PT_PIP_SHIFT_LEFT = 4;
export const PT_VMCS_SHIFT_LEFT = 12;

export const PT_TMA_FAST_COUNTER_MASK = 0x1ff;

/**
 * PWRE: the hardware started the entry. The manual's figure and perf use bit 7. libipt and its test programs
 * use bit 3. No processor uses the other bit for anything else, so both are read and both are written.
 */
export const PT_PWRE_HW_MASK = 0x88;
/** Flag of PWRX: an interrupt woke the core. */
export const PT_PWRX_INTERRUPT = 0x01;
/** Flag of PWRX: a store to the monitored address woke the core. */
export const PT_PWRX_STORE = 0x04;
/** Flag of PWRX: the hardware woke the core by itself. */
export const PT_PWRX_HW = 0x08;
export const PT_PWRX_REASON_MASK = 0x0f;

// Block packets: PEBS records written into the trace. Between BBP and BEP an even byte
// `iiiii100` is an item, not a TNT.
export const PT_BBP_TYPE_MASK = 0x1f;
/** Set: items of 4 bytes; clear: of 8. */
export const PT_BBP_SIZE_4 = 0x80;
export const PT_BIP_MASK = 0x07;
export const PT_BIP = 0x04;
export const PT_BIP_ID_SHIFT = 3;

// Event trace.
export const PT_CFE_TYPE_MASK = 0x1f;
export const PT_CFE_IP = 0x80;
export const PT_EVD_TYPE_MASK = 0x3f;

// TRIG: `d9 flags vector [icnt lo, icnt hi]`.
export const PT_TRIG_IP = 0x80;
export const PT_TRIG_ICNT = 0x40;
export const PT_TRIG_MULT = 0x20;

// Whole sizes in bytes; IP, CYC, PTW, BIP and TRIG packets have several.
export const PT_SIZE_PAD = 1;
export const PT_SIZE_TNT8 = 1;
export const PT_SIZE_MODE = 2;
export const PT_SIZE_MTC = 2;
export const PT_SIZE_TSC = 8;
export const PT_SIZE_PSB = 16;
export const PT_SIZE_HEADER_ONLY = 2;
export const PT_SIZE_CBR = 4;
export const PT_SIZE_TNT64 = 8;
export const PT_SIZE_PIP = 8;
export const PT_SIZE_VMCS = 7;
export const PT_SIZE_TMA = 7;
export const PT_SIZE_MNT = 11;
export const PT_SIZE_MWAIT = 10;
export const PT_SIZE_PWRE = 4;
export const PT_SIZE_PWRX = 7;
export const PT_SIZE_BBP = 3;
export const PT_SIZE_CFE = 4;
export const PT_SIZE_EVD = 11;
export const PT_SIZE_TRIG = 3;
export const PT_SIZE_TRIG_ICNT = 5;
/** The longest packet that is read: PSB. */
export const PT_MAX_PACKET_BYTES = 16;
