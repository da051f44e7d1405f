/**
 * A plain and slow machine for eBPF programs, to test what programs do without a kernel: 64 KiB of memory,
 * registers as bigints, maps as JavaScript maps, helpers as functions.
 */
import { BPF_HELPERS, type BpfHelper } from '@counterpoint/core/abi';
import type { BpfProgram } from '../linux/kernel/bpf/program.ts';

const MEMORY_BYTES = 1 << 16;
const STACK_END = 4096n;
export const CONTEXT_ADDRESS = 4096n;
const FIRST_VALUE_ADDRESS = 8192n;
const STEPS = 1_000_000;

type Helper = (args: readonly bigint[], machine: BpfMachine) => bigint;

interface SimulatedMap {
  readonly keySizeBytes: number;
  readonly valueSizeBytes: number;
  readonly maxEntries: number;
  /** Address of the value by the key in hex. */
  readonly values: Map<string, bigint>;
}

export class BpfMachine {
  readonly memory = new Uint8Array(MEMORY_BYTES);
  readonly view = new DataView(this.memory.buffer);
  readonly maps = new Map<string, SimulatedMap>();
  readonly #program: BpfProgram;
  readonly #helpers = new Map<number, Helper>();
  #nextValue = FIRST_VALUE_ADDRESS;

  constructor(program: BpfProgram, helpers: Partial<Record<BpfHelper, Helper>> = {}) {
    this.#program = program;
    for (const map of program.maps) {
      this.maps.set(map.name, { ...map, values: new Map() });
      if (!map.type.endsWith('array')) continue;
      for (let index = 0; index < map.maxEntries; index++) {
        const key = new Uint8Array(4);
        new DataView(key.buffer).setUint32(0, index, true);
        this.#newValue(map.name, Buffer.from(key).toString('hex'));
      }
    }
    const all: Partial<Record<BpfHelper, Helper>> = {
      map_lookup_elem: ([map, key]) => this.#mapAt(map!).values.get(this.#keyText(map!, key!)) ?? 0n,
      map_update_elem: ([map, key, value, flags]) => this.#update(map!, key!, value!, flags!),
      map_delete_elem: ([map, key]) =>
        this.#mapAt(map!).values.delete(this.#keyText(map!, key!)) ? 0n : -2n,
      ...helpers,
    };
    for (const [name, helper] of Object.entries(all))
      this.#helpers.set(BPF_HELPERS[name as BpfHelper][0], helper);
  }

  /** The numbers of a map by key, each read as 64 bits. */
  counts(name: string): Record<string, bigint> {
    const map = this.maps.get(name)!;
    return Object.fromEntries(
      [...map.values].map(([key, at]) => [key, this.view.getBigUint64(Number(at), true)]),
    );
  }

  /** Run to the exit; the value of r0. */
  run(): bigint {
    return this.#call(0, [CONTEXT_ADDRESS, 0n, 0n, 0n, 0n], STACK_END);
  }

  #call(start: number, args: readonly bigint[], stackEnd: bigint): bigint {
    const { instructions, mapReferences } = this.#program;
    const code = new DataView(instructions.buffer, instructions.byteOffset, instructions.length);
    // What the verifier would refuse to read holds a pattern, so that a test sees it.
    const r: bigint[] = [0xdead0000n, ...args, 0xdead0006n, 0xdead0007n, 0xdead0008n, 0xdead0009n, stackEnd];
    for (let at = start, steps = 0; ; at++) {
      if (++steps > STEPS) throw new Error('the program does not end');
      const opcode = code.getUint8(at * 8);
      const registers = code.getUint8(at * 8 + 1);
      const [d, s] = [registers & 15, registers >> 4];
      const offset = code.getInt16(at * 8 + 2, true);
      const immediate = code.getInt32(at * 8 + 4, true);
      const kind = opcode & 7;
      const operand = (opcode & 8) === 0 ? BigInt(immediate) : r[s]!;
      if (opcode === 0x18) {
        const reference = mapReferences.find((one) => one.instruction === at);
        const high = BigInt(code.getInt32(at * 8 + 12, true));
        r[d] =
          reference !== undefined
            ? BigInt([...this.maps.keys()].indexOf(reference.map) + 1)
            : unsigned((high << 32n) | BigInt(immediate >>> 0));
        at++;
      } else if (kind === 4 || kind === 7) {
        r[d] = arithmetic(opcode & 0xf0, kind === 7 ? 64 : 32, r[d]!, operand, offset, opcode, immediate);
      } else if (kind === 5 || kind === 6) {
        const operation = opcode & 0xf0;
        if (operation === 0x00) at += kind === 5 ? offset : immediate;
        else if (operation === 0x90) return r[0]!;
        else if (operation === 0x80) {
          const passed = r.slice(1, 6);
          const helper = this.#helpers.get(immediate);
          if (s === 1) r[0] = this.#call(at + 1 + immediate, passed, stackEnd - 512n);
          else if (helper === undefined) throw new Error(`no helper ${immediate}`);
          else r[0] = unsigned(helper(passed, this));
          // A call leaves nothing in these.
          for (let lost = 1; lost <= 5; lost++) r[lost] = 0xbad00000n + BigInt(lost);
        } else if (compares(operation, kind === 5 ? 64 : 32, r[d]!, operand)) at += offset;
      } else if (opcode === 0xdb || opcode === 0xc3) {
        this.#atomicAdd(Number(r[d]!) + offset, opcode === 0xdb ? 8 : 4, r[s]!, immediate);
      } else {
        const size = [4, 2, 1, 8][(opcode >> 3) & 3]!;
        if (kind === 1) r[d] = this.#read(Number(r[s]!) + offset, size);
        else this.#write(Number(r[d]!) + offset, size, kind === 3 ? r[s]! : BigInt(immediate));
      }
    }
  }

  #atomicAdd(at: number, size: number, value: bigint, operation: number): void {
    if (operation !== 0) throw new Error(`atomic operation ${operation} is not simulated`);
    this.#write(at, size, this.#read(at, size) + value);
  }

  #read(at: number, size: number): bigint {
    return [...this.memory.subarray(at, at + size)].reduceRight(
      (value, byte) => (value << 8n) | BigInt(byte),
      0n,
    );
  }

  #write(at: number, size: number, value: bigint): void {
    for (let index = 0; index < size; index++)
      this.view.setUint8(at + index, Number((value >> BigInt(8 * index)) & 255n));
  }

  #mapAt(descriptor: bigint): SimulatedMap {
    return [...this.maps.values()][Number(descriptor) - 1]!;
  }

  #keyText(map: bigint, key: bigint): string {
    return Buffer.from(
      this.memory.subarray(Number(key), Number(key) + this.#mapAt(map).keySizeBytes),
    ).toString('hex');
  }

  #update(descriptor: bigint, key: bigint, value: bigint, flags: bigint): bigint {
    const map = this.#mapAt(descriptor);
    const text = this.#keyText(descriptor, key);
    const known = map.values.get(text);
    if (known !== undefined && flags === 1n) return -17n;
    if (known === undefined && map.values.size >= map.maxEntries) return -7n;
    const at = Number(known ?? this.#newValue([...this.maps.keys()][Number(descriptor) - 1]!, text));
    this.memory.copyWithin(at, Number(value), Number(value) + map.valueSizeBytes);
    return 0n;
  }

  #newValue(name: string, key: string): bigint {
    const map = this.maps.get(name)!;
    const at = this.#nextValue;
    map.values.set(key, at);
    this.#nextValue += BigInt(Math.ceil(map.valueSizeBytes / 8) * 8);
    return at;
  }
}

function unsigned(value: bigint, bits = 64): bigint {
  return BigInt.asUintN(bits, value);
}

function arithmetic(
  operation: number,
  bits: number,
  left: bigint,
  right: bigint,
  offset: number,
  opcode: number,
  immediate: number,
): bigint {
  const [a, b] = [unsigned(left, bits), unsigned(right, bits)];
  const shift = b & BigInt(bits - 1);
  switch (operation) {
    case 0x00:
      return unsigned(a + b, bits);
    case 0x10:
      return unsigned(a - b, bits);
    case 0x20:
      return unsigned(a * b, bits);
    case 0x30:
      return b === 0n ? 0n : a / b;
    case 0x40:
      return a | b;
    case 0x50:
      return a & b;
    case 0x60:
      return unsigned(a << shift, bits);
    case 0x70:
      return a >> shift;
    case 0x80:
      return unsigned(-a, bits);
    case 0x90:
      return b === 0n ? a : a % b;
    case 0xa0:
      return a ^ b;
    case 0xb0:
      return offset === 0 ? b : unsigned(BigInt.asIntN(offset, b), bits);
    case 0xc0:
      return unsigned(BigInt.asIntN(bits, a) >> shift, bits);
    default:
      throw new Error(`operation 0x${opcode.toString(16)} (${immediate}) is not simulated`);
  }
}

function compares(operation: number, bits: number, left: bigint, right: bigint): boolean {
  const [a, b] = [unsigned(left, bits), unsigned(right, bits)];
  const [sa, sb] = [BigInt.asIntN(bits, a), BigInt.asIntN(bits, b)];
  switch (operation) {
    case 0x10:
      return a === b;
    case 0x20:
      return a > b;
    case 0x30:
      return a >= b;
    case 0x40:
      return (a & b) !== 0n;
    case 0x50:
      return a !== b;
    case 0x60:
      return sa > sb;
    case 0x70:
      return sa >= sb;
    case 0xa0:
      return a < b;
    case 0xb0:
      return a <= b;
    case 0xc0:
      return sa < sb;
    default:
      return sa <= sb;
  }
}
