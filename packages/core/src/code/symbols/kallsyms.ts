import { DamageLog, decodeUtf8, encodeUtf8, TWO_32 } from '../../base/index.ts';
import { STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_OBJECT } from '../elf/index.ts';
import { HEX_VALUE } from '../jit/index.ts';

/**
 * `/proc/kallsyms` as columns, in file order:
 *
 *     ffffffff81000000 T _text
 *     ffffffffc0211000 t ext4_init	[ext4]
 *
 * Addresses are signed, so that they are exact. Names stay in `bytes` until they are asked for.
 */
export interface Kallsyms {
  count: number;
  address: Float64Array;
  /** The letter of nm: T, t, W, D, ... */
  type: Uint8Array;
  nameStart: Uint32Array;
  nameEnd: Uint32Array;
  /** Index into `modules`. */
  module: Uint16Array;
  /** Names of modules; 0 is the kernel itself, ''. */
  modules: string[];
  bytes: Uint8Array;
  /** True where all addresses are 0: this user may not see them. */
  isRestricted: boolean;
  damage: DamageLog;
}

const TAB = 0x09;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const MAX_MODULES = 0xffff;
/** `0 T a` and a newline: no line is shorter. */
const SHORTEST_LINE = 6;

export function parseKallsyms(bytes: Uint8Array): Kallsyms {
  const table = newTable(bytes, Math.ceil(bytes.length / 32) + 16);
  const moduleByName = new Map<string, number>([['', 0]]);
  let anyAddress = false;
  let lastModule = 0;
  for (let at = 0; at < bytes.length; ) {
    const line = at;
    let low = 0;
    let high = 0;
    for (; at < bytes.length; at++) {
      const digit = HEX_VALUE[bytes[at]!]!;
      if (digit < 0) break;
      high = (high << 4) | (low >>> 28);
      low = (low << 4) | digit;
    }
    const digits = at - line;
    const type = bytes[at + 1]!;
    let nameStart = at + 3;
    let nameEnd = nameStart;
    while (nameEnd < bytes.length && bytes[nameEnd]! > SPACE) nameEnd++;
    const isGood =
      digits > 0 && digits <= 16 && bytes[at] === SPACE && bytes[at + 2] === SPACE && nameEnd > nameStart;
    let end = nameEnd;
    if (!isGood) {
      table.damage.add('kallsyms-line', line);
      nameStart = end = line;
    }
    if (isGood && (bytes[end] === TAB || bytes[end] === SPACE) && bytes[end + 1] === OPEN_BRACKET) {
      const module = moduleAt(bytes, end + 2, table, moduleByName, lastModule);
      lastModule = module;
    } else lastModule = 0;
    while (end < bytes.length && bytes[end] !== NEWLINE) end++;
    at = end + 1;
    if (!isGood) continue;
    if (table.count === table.address.length) grow(table);
    const row = table.count++;
    table.address[row] = high * TWO_32 + (low >>> 0);
    table.type[row] = type;
    table.nameStart[row] = nameStart;
    table.nameEnd[row] = nameEnd;
    table.module[row] = lastModule;
    if ((low | high) !== 0) anyAddress = true;
  }
  table.isRestricted = table.count > 0 && !anyAddress;
  return table;
}

export function kallsymsName(table: Kallsyms, row: number): string {
  return decodeUtf8(table.bytes.subarray(table.nameStart[row]!, table.nameEnd[row]!));
}

/** Address of the kernel's own symbol of that name, or NaN. */
export function kallsymsAddress(table: Kallsyms, name: string): number {
  const wanted = encodeUtf8(name);
  for (let row = 0; row < table.count; row++) {
    const start = table.nameStart[row]!;
    if (table.module[row] !== 0 || table.nameEnd[row]! - start !== wanted.length) continue;
    let same = 0;
    while (same < wanted.length && table.bytes[start + same] === wanted[same]) same++;
    if (same === wanted.length) return table.address[row]!;
  }
  return Number.NaN;
}

/**
 * `T`, `t`, `W`, `w`, `D`, `d`, `B`, `b`: code and data in memory, what perf takes. Not
 * constants, per-CPU offsets, ...
 */
export function isCodeOrData(type: number): boolean {
  const upper = type & ~0x20;
  return upper === 0x54 || upper === 0x57 || upper === 0x44 || upper === 0x42;
}

/** ELF binding << 4 | type of an nm letter: capital letters are global, W is weak, T and W are functions. */
export function elfInfoOf(type: number): number {
  const upper = type & ~0x20;
  const binding = upper === 0x57 ? STB_WEAK : type === upper ? STB_GLOBAL : STB_LOCAL;
  return (binding << 4) | (upper === 0x54 || upper === 0x57 ? STT_FUNC : STT_OBJECT);
}

/**
 * The module named at `at`. Symbols of a module stand together, so it is mostly the one of the line before.
 */
function moduleAt(
  bytes: Uint8Array,
  at: number,
  table: Kallsyms,
  byName: Map<string, number>,
  lastModule: number,
): number {
  const last = table.modules[lastModule]!;
  if (lastModule !== 0 && bytes[at + last.length] === CLOSE_BRACKET) {
    let same = 0;
    while (same < last.length && bytes[at + same] === last.charCodeAt(same)) same++;
    if (same === last.length) return lastModule;
  }
  let end = at;
  while (end < bytes.length && bytes[end] !== CLOSE_BRACKET && bytes[end]! > SPACE) end++;
  const name = decodeUtf8(bytes.subarray(at, end));
  let module = byName.get(name);
  if (module === undefined) {
    if (table.modules.length === MAX_MODULES) {
      table.damage.add('kallsyms-modules', at);
      return MAX_MODULES - 1;
    }
    module = table.modules.push(name) - 1;
    byName.set(name, module);
  }
  return module;
}

function newTable(bytes: Uint8Array, capacity: number): Kallsyms {
  return {
    count: 0,
    address: new Float64Array(capacity),
    type: new Uint8Array(capacity),
    nameStart: new Uint32Array(capacity),
    nameEnd: new Uint32Array(capacity),
    module: new Uint16Array(capacity),
    modules: [''],
    bytes,
    isRestricted: false,
    damage: new DamageLog(),
  };
}

function grow(table: Kallsyms): void {
  const capacity = Math.min(table.count * 2, Math.ceil(table.bytes.length / SHORTEST_LINE) + 16);
  const bigger = newTable(table.bytes, capacity);
  bigger.address.set(table.address);
  bigger.type.set(table.type);
  bigger.nameStart.set(table.nameStart);
  bigger.nameEnd.set(table.nameEnd);
  bigger.module.set(table.module);
  table.address = bigger.address;
  table.type = bigger.type;
  table.nameStart = bigger.nameStart;
  table.nameEnd = bigger.nameEnd;
  table.module = bigger.module;
}
