/**
 * Every packet has a kind: a small number, so that tables can be indexed by it. Frequent kinds come first.
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

export const PACKET_BAD = 0;
export const PACKET_TNT8 = 1;
export const PACKET_TIP = 2;
export const PACKET_TIP_PGE = 3;
export const PACKET_TIP_PGD = 4;
export const PACKET_FUP = 5;
export const PACKET_CYC = 6;
export const PACKET_PAD = 7;
export const PACKET_MTC = 8;
export const PACKET_TSC = 9;
export const PACKET_MODE_EXEC = 10;
export const PACKET_MODE_TSX = 11;
export const PACKET_TRIG = 12;
export const PACKET_TNT64 = 13;
export const PACKET_PSB = 14;
export const PACKET_PSBEND = 15;
export const PACKET_OVF = 16;
export const PACKET_STOP = 17;
export const PACKET_PIP = 18;
export const PACKET_VMCS = 19;
export const PACKET_CBR = 20;
export const PACKET_TMA = 21;
export const PACKET_MNT = 22;
export const PACKET_PTW = 23;
export const PACKET_EXSTOP = 24;
export const PACKET_MWAIT = 25;
export const PACKET_PWRE = 26;
export const PACKET_PWRX = 27;
export const PACKET_BBP = 28;
export const PACKET_BIP = 29;
export const PACKET_BEP = 30;
export const PACKET_CFE = 31;
export const PACKET_EVD = 32;
/** Damaged by the processor itself (an erratum), but its length is known: to be stepped over. */
export const PACKET_INVALID = 33;
export const PACKET_KINDS = 34;

/** Needs its second byte: only in FIRST_BYTE_KIND. */
export const PACKET_NEEDS_SECOND = 40;
/** Needs the leaf in its payload: only in FIRST_BYTE_KIND. */
export const PACKET_NEEDS_LEAF = 41;
/** Needs its third byte: only in SECOND_BYTE_KIND. */
export const PACKET_NEEDS_THIRD = 42;

/** As the dump writes them. */
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
 * Plain statement of the rules for a first byte: whole bytes, then masked headers. Builds the table; slow.
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

/** TIP, TIP.PGE, TIP.PGD and FUP are neighbours: one test tells whether a packet carries an IP. */
export function hasIpPayload(kind: number): boolean {
  return kind >= PACKET_TIP && kind <= PACKET_FUP;
}
