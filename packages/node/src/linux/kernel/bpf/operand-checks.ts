/**
 * What each method of the assembler takes, checked before the first instruction is written: programs without
 * types, or with a value from elsewhere, get an error with the line that asked, not a TypeError from within.
 *
 *   add(): destination should be a register, but is 5
 */
import { shownValue } from '@counterpoint/core/base';
import { hasMembers } from '../../../host/options/index.ts';
import type { ProgramWriter } from './program-writer.ts';

interface Operand {
  readonly expects: string;
  readonly accepts: (value: unknown) => boolean;
  readonly remedy: string;
}

const isNumber = (value: unknown) => typeof value === 'number' || typeof value === 'bigint';

export const isRegister = (value: unknown): boolean =>
  hasMembers(value, { kind: 'string', number: 'number', bits: 'number' }) &&
  (value as { kind: unknown }).kind === 'register';

export const isMemory = (value: unknown): boolean =>
  hasMembers(value, { kind: 'string', base: 'object', offsetBytes: 'number', sizeBytes: 'number' }) &&
  (value as { kind: unknown }).kind === 'memory' &&
  isRegister((value as { base: unknown }).base);

export const isMapDefinition = (value: unknown): boolean =>
  hasMembers(value, {
    name: 'string',
    type: 'string',
    keySizeBytes: 'number',
    valueSizeBytes: 'number',
    maxEntries: 'number',
  });

export const REGISTER: Operand = {
  expects: 'a register',
  accepts: isRegister,
  remedy: 'Give one of r0 to r10, or w0 to w9 for the low half.',
};
const VALUE: Operand = {
  expects: 'a register or a number',
  accepts: (value) => isRegister(value) || isNumber(value),
  remedy: 'Give a register, such as r1 or w1, or a number.',
};
const MEMORY: Operand = {
  expects: 'memory',
  accepts: isMemory,
  remedy: 'Give memory at a register, such as u32(r6, 16), or a slot of stack().',
};
const MAP_OPERAND: Operand = {
  expects: 'memory, a register or a number',
  accepts: (value) => isMemory(value) || isRegister(value) || isNumber(value),
  remedy: 'Give memory, such as a slot of stack(), a register, or a number.',
};
const DEFINITION: Operand = {
  expects: 'the definition of a map',
  accepts: isMapDefinition,
  remedy: 'Give { name, type, keySizeBytes, valueSizeBytes, maxEntries }.',
};
const LAYOUT: Operand = {
  expects: 'the layout of a struct',
  accepts: (value) => hasMembers(value, { sizeBytes: 'number', fields: 'object', at: 'function' }),
  remedy: 'Give what bpfStruct() gives.',
};
const SIZE: Operand = {
  expects: 'a number of bytes or the layout of a struct',
  accepts: (value) => typeof value === 'number' || LAYOUT.accepts(value),
  remedy: 'Give a number of bytes, or what bpfStruct() gives.',
};
const AMOUNTS: Operand = {
  expects: 'an object with an amount for each field',
  accepts: (value) => hasMembers(value, {}),
  remedy: 'Give { field: 1 }, with a number or a register for each field that grows.',
};
const TEXT: Operand = {
  expects: 'text',
  accepts: (value) => typeof value === 'string' && value !== '',
  remedy: 'Give a name that is not empty.',
};
const NUMBER: Operand = { expects: 'a number', accepts: isNumber, remedy: 'Give a number.' };
const BODY: Operand = {
  expects: 'a function',
  accepts: (value) => typeof value === 'function',
  remedy: 'Give a function that writes the instructions of the block.',
};
const ANYTHING: Operand = { expects: 'anything', accepts: () => true, remedy: '' };

function optional(operand: Operand): Operand {
  return { ...operand, accepts: (value) => value === undefined || operand.accepts(value) };
}

const ARITHMETIC = { destination: REGISTER, source: VALUE };
const ATOMIC = { to: MEMORY, source: REGISTER };
const DESTINATION = { destination: REGISTER };
const LABEL = { name: TEXT };
const IF_NULL = { pointer: REGISTER, body: BODY, otherwise: optional(BODY) };
const MAP_KEY = { map: DEFINITION, key: MAP_OPERAND };

/** The parameters of each method, in order. What is not here is checked by the method itself. */
export const OPERANDS: Readonly<Record<string, Readonly<Record<string, Operand>>>> = {
  add: ARITHMETIC,
  subtract: ARITHMETIC,
  multiply: ARITHMETIC,
  divide: ARITHMETIC,
  divideSigned: ARITHMETIC,
  modulo: ARITHMETIC,
  moduloSigned: ARITHMETIC,
  or: ARITHMETIC,
  and: ARITHMETIC,
  xor: ARITHMETIC,
  shiftLeft: ARITHMETIC,
  shiftRight: ARITHMETIC,
  shiftRightSigned: ARITHMETIC,
  move: ARITHMETIC,
  moveWide: { destination: REGISTER, value: NUMBER },
  moveSigned: { destination: REGISTER, source: REGISTER },
  castAddressSpace: { destination: REGISTER, source: REGISTER, to: NUMBER, from: NUMBER },
  negate: DESTINATION,
  swapBytes: DESTINATION,
  toBigEndian: DESTINATION,
  toLittleEndian: DESTINATION,
  load: { destination: REGISTER, from: MEMORY },
  loadAcquire: { destination: REGISTER, from: MEMORY },
  store: { to: MEMORY, source: VALUE },
  storeRelease: ATOMIC,
  atomicAdd: ATOMIC,
  atomicAnd: ATOMIC,
  atomicOr: ATOMIC,
  atomicXor: ATOMIC,
  atomicFetchAdd: ATOMIC,
  atomicFetchAnd: ATOMIC,
  atomicFetchOr: ATOMIC,
  atomicFetchXor: ATOMIC,
  atomicExchange: ATOMIC,
  atomicCompareExchange: ATOMIC,
  loadPacketAt: { sizeBytes: NUMBER, index: REGISTER },
  label: LABEL,
  jump: LABEL,
  jumpLong: LABEL,
  mayJump: LABEL,
  callFunction: LABEL,
  loadFunctionAddress: { destination: REGISTER, name: TEXT },
  jumpIf: { left: REGISTER, comparison: ANYTHING, right: VALUE, name: TEXT },
  if: { left: REGISTER, comparison: ANYTHING, right: VALUE, body: BODY, otherwise: optional(BODY) },
  ifNull: IF_NULL,
  ifNotNull: IF_NULL,
  repeat: { counter: REGISTER, count: VALUE, body: BODY },
  zero: { to: MEMORY },
  address: { destination: REGISTER, of: MEMORY },
  saveContext: { register: optional(REGISTER) },
  loadContext: { destination: REGISTER, field: TEXT },
  copyContext: { to: MEMORY, field: TEXT, scratch: REGISTER },
  copyContextText: { to: MEMORY, field: TEXT },
  loadIsUserMode: DESTINATION,
  loadMap: { destination: REGISTER, map: DEFINITION },
  loadMapValue: { destination: REGISTER, map: DEFINITION },
  mapLookup: MAP_KEY,
  mapDelete: MAP_KEY,
  mapUpdate: { ...MAP_KEY, value: MAP_OPERAND },
  countInMap: { ...MAP_KEY, amount: optional(VALUE), onFull: optional(BODY) },
  addToMap: { ...MAP_KEY, layout: LAYOUT, amounts: AMOUNTS, onFull: optional(BODY) },
  record: { ring: DEFINITION, layout: LAYOUT, register: REGISTER, fill: BODY, onFull: optional(BODY) },
  stack: { name: TEXT, of: SIZE },
  notify: { ring: DEFINITION, reason: optional(NUMBER) },
  function: { name: TEXT, body: BODY },
  loadProcessId: DESTINATION,
  loadThreadId: DESTINATION,
  loadProcessAndThread: DESTINATION,
  loadKernelProcessId: DESTINATION,
  loadKernelThreadId: DESTINATION,
  onlyProcess: { processId: NUMBER },
  log2: { destination: REGISTER, source: REGISTER },
  return: { value: VALUE },
};

type Method = (this: object, ...given: unknown[]) => unknown;

/** Has every method of a class, and of those that it extends, look at its operands first. */
export function checkOperands(
  of: { readonly prototype: object },
  codeOf: (self: object) => ProgramWriter,
): void {
  for (const [name, operands] of Object.entries(OPERANDS)) {
    let owner: object | null = of.prototype;
    while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
    if (owner === null) throw new Error(`the assembler has no ${name}()`);
    const method = Reflect.get(owner, name) as Method;
    const parameters = Object.entries(operands);
    const checked: Method = function (...given) {
      parameters.forEach(([parameter, { expects, accepts, remedy }], index) => {
        if (accepts(given[index])) return;
        throw codeOf(this).error(
          'ERR_BPF_OPERAND',
          `${name}(): ${parameter} should be ${expects}, but is ${shownValue(given[index])}`,
          remedy,
        );
      });
      return method.apply(this, given);
    };
    Object.defineProperty(owner, name, { value: checked, writable: true, configurable: true });
  }
}
