/** Statements of the section `trace`: a packet's name and what it carries, in words. */
import {
  PT_IP_FULL,
  PT_IP_SEXT_48,
  PT_IP_SUPPRESSED,
  PT_IP_UPDATE_16,
  PT_IP_UPDATE_32,
  PT_IP_UPDATE_48,
  PT_MODE_EXEC_CS_D,
  PT_MODE_EXEC_CS_L,
  PT_MODE_EXEC_IF,
  PT_MODE_TSX_ABRT,
  PT_MODE_TSX_INTX,
  PT_PWRX_HW,
  PT_PWRX_INTERRUPT,
  PT_PWRX_STORE,
  PT_TNT8_MAX_BITS,
} from '../packets/opcodes.ts';
import { FLAG_HW, FLAG_ICNT, FLAG_IP, FLAG_MULT, FLAG_NON_ROOT, type Packet } from '../packets/packet.ts';
import {
  PACKET_BBP,
  PACKET_BEP,
  PACKET_BIP,
  PACKET_CBR,
  PACKET_CFE,
  PACKET_CYC,
  PACKET_EVD,
  PACKET_EXSTOP,
  PACKET_FUP,
  PACKET_MNT,
  PACKET_MODE_EXEC,
  PACKET_MODE_TSX,
  PACKET_MTC,
  PACKET_MWAIT,
  PACKET_OVF,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_STOP,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TRIG,
  PACKET_TSC,
  PACKET_VMCS,
} from '../packets/packet-kinds.ts';

/** The words behind a packet's name, taken one after another. */
export interface Words {
  /** The next word as a value. */
  value(): bigint;
  /** The same, of at most 32 bits. */
  number(): number;
  /** Takes the next word when it is this one. */
  flag(word: string): boolean;
  /** The next word, one of these. */
  choice<Choice extends string>(...choices: readonly Choice[]): Choice;
  /** All words that are left, as one. */
  rest(): string;
  complain(message: string): never;
}

type Build = (packet: Packet, words: Words) => void;

const COMPRESSIONS = [
  ['/16', PT_IP_UPDATE_16, 16n],
  ['/32', PT_IP_UPDATE_32, 32n],
  ['/48', PT_IP_UPDATE_48, 48n],
  ['/full', PT_IP_FULL, 64n],
  ['/sext', PT_IP_SEXT_48, 48n],
] as const;

function ip(packet: Packet, words: Words): void {
  if (words.flag('-')) {
    packet.type = PT_IP_SUPPRESSED;
    return;
  }
  const address = words.value();
  const [, type, bits] = COMPRESSIONS.find(([word]) => words.flag(word)) ?? COMPRESSIONS[4];
  if (type === PT_IP_SEXT_48 && BigInt.asUintN(64, BigInt.asIntN(48, address)) !== address)
    words.complain('this address does not fit into 48 bits; write /full');
  packet.type = type;
  setWide(packet, BigInt.asUintN(Number(bits), address));
}

function outcomes(packet: Packet, words: Words, max: number): void {
  const text = words.rest().replaceAll(' ', '');
  if (!/^[tn!.]+$/.test(text) || text.length > max) words.complain(`expected 1 to ${max} of t and n`);
  packet.type = text.length;
  setWide(packet, BigInt(`0b${[...text].map((letter) => ('t!'.includes(letter) ? 1 : 0)).join('')}`));
}

function setWide(packet: Packet, value: bigint): void {
  packet.lo = Number(BigInt.asIntN(32, value));
  packet.hi = Number(BigInt.asIntN(32, value >> 32n));
}

const nothing: Build = () => {};
const wide: Build = (packet, words) => setWide(packet, words.value());
const flagIp: Build = (packet, words) => {
  packet.flags = words.flag('ip') ? FLAG_IP : 0;
};

function ptw(type: number): Build {
  return (packet, words) => {
    packet.type = type;
    wide(packet, words);
    flagIp(packet, words);
  };
}

/** Name -> kind, and how its words are read. */
export const STATEMENTS: ReadonlyMap<string, readonly [number, Build]> = new Map<
  string,
  readonly [number, Build]
>([
  ['psb', [PACKET_PSB, nothing]],
  ['psbend', [PACKET_PSBEND, nothing]],
  ['pad', [PACKET_PAD, nothing]],
  ['ovf', [PACKET_OVF, nothing]],
  ['stop', [PACKET_STOP, nothing]],
  ['tnt', [PACKET_TNT8, (packet, words) => outcomes(packet, words, PT_TNT8_MAX_BITS)]],
  ['tnt64', [PACKET_TNT64, (packet, words) => outcomes(packet, words, 47)]],
  ['tip', [PACKET_TIP, ip]],
  ['tip.pge', [PACKET_TIP_PGE, ip]],
  ['tip.pgd', [PACKET_TIP_PGD, ip]],
  ['fup', [PACKET_FUP, ip]],
  [
    'mode.exec',
    [
      PACKET_MODE_EXEC,
      (packet, words) => {
        const width = words.choice('64', '32', '16');
        packet.flags = width === '64' ? PT_MODE_EXEC_CS_L : width === '32' ? PT_MODE_EXEC_CS_D : 0;
        if (words.flag('if')) packet.flags |= PT_MODE_EXEC_IF;
      },
    ],
  ],
  [
    'mode.tsx',
    [
      PACKET_MODE_TSX,
      (packet, words) => {
        const what = words.choice('begin', 'commit', 'abort');
        packet.flags = what === 'begin' ? PT_MODE_TSX_INTX : what === 'abort' ? PT_MODE_TSX_ABRT : 0;
      },
    ],
  ],
  [
    'pip',
    [
      PACKET_PIP,
      (packet, words) => {
        wide(packet, words);
        packet.flags = words.flag('nr') ? FLAG_NON_ROOT : 0;
      },
    ],
  ],
  ['vmcs', [PACKET_VMCS, wide]],
  ['cbr', [PACKET_CBR, wide]],
  ['tsc', [PACKET_TSC, wide]],
  [
    'tma',
    [
      PACKET_TMA,
      (packet, words) => {
        wide(packet, words);
        packet.extra = words.number();
      },
    ],
  ],
  ['mtc', [PACKET_MTC, wide]],
  ['cyc', [PACKET_CYC, wide]],
  ['mnt', [PACKET_MNT, wide]],
  ['ptw4', [PACKET_PTW, ptw(0)]],
  ['ptw8', [PACKET_PTW, ptw(1)]],
  ['exstop', [PACKET_EXSTOP, flagIp]],
  [
    'mwait',
    [
      PACKET_MWAIT,
      (packet, words) => {
        packet.lo = words.number() | 0;
        packet.hi = words.number() | 0;
      },
    ],
  ],
  [
    'pwre',
    [
      PACKET_PWRE,
      (packet, words) => {
        packet.type = words.number();
        packet.extra = words.number();
        packet.flags = words.flag('hw') ? FLAG_HW : 0;
      },
    ],
  ],
  [
    'pwrx',
    [
      PACKET_PWRX,
      (packet, words) => {
        const reason = words.choice('int', 'st', 'hw');
        packet.flags = reason === 'int' ? PT_PWRX_INTERRUPT : reason === 'st' ? PT_PWRX_STORE : PT_PWRX_HW;
        packet.extra = words.number();
        packet.type = words.number();
      },
    ],
  ],
  [
    'bbp',
    [
      PACKET_BBP,
      (packet, words) => {
        packet.type = words.number();
        packet.extra = words.number();
      },
    ],
  ],
  [
    'bip',
    [
      PACKET_BIP,
      (packet, words) => {
        packet.type = words.number();
        wide(packet, words);
      },
    ],
  ],
  ['bep', [PACKET_BEP, flagIp]],
  [
    'cfe',
    [
      PACKET_CFE,
      (packet, words) => {
        packet.type = words.number();
        if (words.flag('vector')) packet.extra = words.number();
        flagIp(packet, words);
      },
    ],
  ],
  [
    'evd',
    [
      PACKET_EVD,
      (packet, words) => {
        packet.type = words.number();
        wide(packet, words);
      },
    ],
  ],
  [
    'trig',
    [
      PACKET_TRIG,
      (packet, words) => {
        packet.type = words.number();
        flagIp(packet, words);
        if (words.flag('mult')) packet.flags |= FLAG_MULT;
        if (words.flag('icnt')) {
          packet.flags |= FLAG_ICNT;
          packet.extra = words.number();
        }
      },
    ],
  ],
]);
