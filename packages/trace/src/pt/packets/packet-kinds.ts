/**
 * Every packet has a kind. It is a small number that can be the index of a table. Frequent kinds come first.
 */
import {
  PT_CYC,
  PT_CYC_MASK,
  PT_EXT_BBP,
  PT_EXT_BEP,
  PT_EXT_BEP_IP,
  PT_EXT_CBR,
  PT_EXT_CFE,
  PT_EXT_EVD,
  PT_EXT_EXSTOP,
  PT_EXT_EXSTOP_IP,
  PT_EXT_EXT2,
  PT_EXT_MWAIT,
  PT_EXT_OVF,
  PT_EXT_PIP,
  PT_EXT_PSB,
  PT_EXT_PSBEND,
  PT_EXT_PTW,
  PT_EXT_PTW_MASK,
  PT_EXT_PWRE,
  PT_EXT_PWRX,
  PT_EXT_STOP,
  PT_EXT_TMA,
  PT_EXT_TNT64,
  PT_EXT_VMCS,
  PT_EXTENDED,
  PT_FUP,
  PT_IP_MASK,
  PT_MODE,
  PT_MTC,
  PT_PAD,
  PT_TIP,
  PT_TIP_PGD,
  PT_TIP_PGE,
  PT_TNT8_MASK,
  PT_TRIG,
  PT_TSC,
} from './opcodes.ts';

/**
 * No packet: bytes that could not be read. Each kind is described in the SDM, volume 3, chapter
 * "Intel Processor Trace", "Packet Definitions".
 */
export const PACKET_BAD = 0;
/**
 * Short TNT: 1 to 6 conditional branches, each taken or not. A return to the instruction
 * after its call counts as taken.
 */
export const PACKET_TNT8 = 1;
/** Target IP: where an indirect branch, a return, an exception or an interrupt went. */
export const PACKET_TIP = 2;
/** Tracing begins: at this address. */
export const PACKET_TIP_PGE = 3;
/** Tracing ends. The address is where execution continues without a trace. It may be suppressed. */
export const PACKET_TIP_PGD = 4;
/**
 * Flow update: the address at which something other than a branch happened, such as an interrupt. After a
 * PSB: the address that execution has reached.
 */
export const PACKET_FUP = 5;
/** Cycles of the core's clock since the last CYC. */
export const PACKET_CYC = 6;
/** One byte without a meaning (padding). */
export const PACKET_PAD = 7;
/** Eight bits of the crystal clock, at the end of each period. */
export const PACKET_MTC = 8;
/** The time-stamp counter: its low 56 bits. */
export const PACKET_TSC = 9;
/** Width of the code that follows. With event trace also the interrupt flag. */
export const PACKET_MODE_EXEC = 10;
/** A TSX transaction begins, commits or aborts. */
export const PACKET_MODE_TSX = 11;
/** A trigger was hit (trigger tracing). */
export const PACKET_TRIG = 12;
/** Long TNT: the same with up to 47 outcomes. */
export const PACKET_TNT64 = 13;
/** Synchronization: 16 bytes that occur nowhere else. Decoding begins here, also after damage. */
export const PACKET_PSB = 14;
/** End of the state after a PSB. Packets before it repeat what is known. Packets after it are new. */
export const PACKET_PSBEND = 15;
/** The processor's buffer overflowed: packets are lost here. */
export const PACKET_OVF = 16;
/** Execution came to a range that stops the trace (TraceStop). */
export const PACKET_STOP = 17;
/** CR3 was written: another address space. */
export const PACKET_PIP = 18;
/** Another virtual machine: the address of its VMCS. */
export const PACKET_VMCS = 19;
/** The core runs at another multiple of the bus clock. */
export const PACKET_CBR = 20;
/** The relation of the TSC to the crystal clock. It follows a TSC. */
export const PACKET_TMA = 21;
/** Maintenance. Its meaning depends on the model of the processor. */
export const PACKET_MNT = 22;
/** The value of a PTWRITE instruction. */
export const PACKET_PTW = 23;
/** Execution stopped: a power state, or a change of the core's frequency. */
export const PACKET_EXSTOP = 24;
/** An MWAIT asked for a power state deeper than C0. */
export const PACKET_MWAIT = 25;
/** The core goes to a power state (C-state). */
export const PACKET_PWRE = 26;
/** The core is back from one. */
export const PACKET_PWRX = 27;
/** A block begins: a PEBS record in the trace. */
export const PACKET_BBP = 28;
/** An item of a block: a register, or another field of the record. */
export const PACKET_BIP = 29;
/** A block ends. */
export const PACKET_BEP = 30;
/** Control-flow event: an interrupt, a VM exit and the like (event trace). */
export const PACKET_CFE = 31;
/** More of the control-flow event that follows: the address of a page fault, a VM exit's reason. */
export const PACKET_EVD = 32;
/**
 * A packet that the processor itself has damaged (an erratum). Its length is known, so readers step over it.
 */
export const PACKET_INVALID = 33;
export const PACKET_KINDS = 34;

/** Its second byte decides. Only in FIRST_BYTE_KIND. */
export const PACKET_NEEDS_SECOND = 40;
/** The leaf in its payload decides. Only in FIRST_BYTE_KIND. */
export const PACKET_NEEDS_LEAF = 41;
/** Its third byte decides. Only in SECOND_BYTE_KIND. */
export const PACKET_NEEDS_THIRD = 42;

/** As the dump writes them, by kind: `tip.pge`. */
export const PACKET_NAMES: readonly string[] = [
  '<bad>',
  'tnt.8',
  'tip',
  'tip.pge',
  'tip.pgd',
  'fup',
  'cyc',
  'pad',
  'mtc',
  'tsc',
  'mode.exec',
  'mode.tsx',
  'trig',
  'tnt.64',
  'psb',
  'psbend',
  'ovf',
  'stop',
  'pip',
  'vmcs',
  'cbr',
  'tma',
  'mnt',
  'ptw',
  'exstop',
  'mwait',
  'pwre',
  'pwrx',
  'bbp',
  'bip',
  'bep',
  'cfe',
  'evd',
  '<invalid>',
];

/**
 * The rules for a first byte, stated plainly: whole bytes, then masked headers. It is
 * slow, and only builds the table.
 */
export function kindOfFirstByte(byte: number): number {
  switch (byte) {
    case PT_PAD:
      return PACKET_PAD;
    case PT_EXTENDED:
      return PACKET_NEEDS_SECOND;
    case PT_MODE:
      return PACKET_NEEDS_LEAF;
    case PT_TSC:
      return PACKET_TSC;
    case PT_MTC:
      return PACKET_MTC;
    case PT_TRIG:
      return PACKET_TRIG;
  }
  if ((byte & PT_CYC_MASK) === PT_CYC) return PACKET_CYC;
  if ((byte & PT_TNT8_MASK) === 0) return PACKET_TNT8;
  switch (byte & PT_IP_MASK) {
    case PT_TIP:
      return PACKET_TIP;
    case PT_TIP_PGE:
      return PACKET_TIP_PGE;
    case PT_TIP_PGD:
      return PACKET_TIP_PGD;
    case PT_FUP:
      return PACKET_FUP;
  }
  return PACKET_BAD;
}

/** The same for the second byte of an extended packet. */
export function kindOfSecondByte(byte: number): number {
  if ((byte & PT_EXT_PTW_MASK) === PT_EXT_PTW) return PACKET_PTW;
  return SECOND_BYTES.get(byte) ?? PACKET_BAD;
}

const SECOND_BYTES = new Map([
  [PT_EXT_PSB, PACKET_PSB],
  [PT_EXT_PSBEND, PACKET_PSBEND],
  [PT_EXT_TNT64, PACKET_TNT64],
  [PT_EXT_OVF, PACKET_OVF],
  [PT_EXT_STOP, PACKET_STOP],
  [PT_EXT_PIP, PACKET_PIP],
  [PT_EXT_VMCS, PACKET_VMCS],
  [PT_EXT_CBR, PACKET_CBR],
  [PT_EXT_TMA, PACKET_TMA],
  [PT_EXT_EXT2, PACKET_NEEDS_THIRD],
  [PT_EXT_EXSTOP, PACKET_EXSTOP],
  [PT_EXT_EXSTOP_IP, PACKET_EXSTOP],
  [PT_EXT_MWAIT, PACKET_MWAIT],
  [PT_EXT_PWRE, PACKET_PWRE],
  [PT_EXT_PWRX, PACKET_PWRX],
  [PT_EXT_BBP, PACKET_BBP],
  [PT_EXT_BEP, PACKET_BEP],
  [PT_EXT_BEP_IP, PACKET_BEP],
  [PT_EXT_CFE, PACKET_CFE],
  [PT_EXT_EVD, PACKET_EVD],
]);

export const FIRST_BYTE_KIND: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  kindOfFirstByte(byte),
);
export const SECOND_BYTE_KIND: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  kindOfSecondByte(byte),
);

/**
 * TIP, TIP.PGE, TIP.PGD and FUP have adjacent numbers, so one test tells whether a packet carries an IP.
 */
export function hasIpPayload(kind: number): boolean {
  return kind >= PACKET_TIP && kind <= PACKET_FUP;
}

/**
 * What says how things are and what time it is, and not what was executed: it may stand in a PSB+ in any
 * order, and behind it before a TIP.PGE.
 */
const STATUS_KINDS: readonly number[] = [
  PACKET_PAD,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_PIP,
  PACKET_VMCS,
  PACKET_CBR,
  PACKET_MNT,
  PACKET_TSC,
  PACKET_TMA,
  PACKET_MTC,
  PACKET_CYC,
];

/** 1 for each kind of `STATUS_KINDS`. */
const IS_STATUS: Uint8Array = Uint8Array.from({ length: PACKET_KINDS }, (_, kind) =>
  STATUS_KINDS.includes(kind) ? 1 : 0,
);

/** Does a packet of this kind leave open whether tracing is on? */
export function isStatusKind(kind: number): boolean {
  return IS_STATUS[kind] === 1;
}
