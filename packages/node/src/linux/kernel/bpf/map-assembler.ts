/** Calls of helpers, maps, ring buffers. */

import {
  BPF_ANY,
  BPF_HELPERS,
  BPF_NOEXIST,
  BPF_PSEUDO_MAP_FD,
  BPF_PSEUDO_MAP_VALUE,
  BPF_RB_FORCE_WAKEUP,
  BPF_TRACE_PRINTK_LEAST_ARGUMENTS,
  type BpfHelper,
} from '@counterpoint/core/abi';
import { didYouMean, nearestNames } from '@counterpoint/core/base';
import { orderMoves } from './call-arguments.ts';
import { ContextAssembler } from './context-assembler.ts';
import {
  ARGUMENT_REGISTERS,
  type MemoryOperand,
  type Register,
  r0,
  r1,
  registerName,
  whole,
} from './operands.ts';
import type { BpfMapDefinition } from './program.ts';
import { bpfStruct, type StructFields, type StructLayout } from './struct-layout.ts';

/** What a call takes: a register, a number, memory (its address), a map. */
export type CallArgument = Register | number | bigint | MemoryOperand | BpfMapDefinition;

/** A key or value: memory, or what is put into memory for it. */
export type MapOperand = MemoryOperand | Register | number;

/** Maps and helpers: look-ups, counts, records of a ring buffer. */
export class MapAssembler extends ContextAssembler {
  readonly #maps = new Map<string, BpfMapDefinition>();

  /** Every map that the program refers to, so far. */
  protected get maps(): readonly BpfMapDefinition[] {
    return [...this.#maps.values()];
  }

  // Calls.

  /**
   * Call a helper by its name, without `bpf_`: `asm.call('map_lookup_elem', starts, key)`. The arguments are
   * put into r1 to r5 in an order in which none is lost; memory stands for its address, a map for itself.
   * Without any, they are there already. The result is in r0; r1 to r5 hold nothing afterwards.
   */
  call(helper: BpfHelper, ...args: readonly CallArgument[]): void {
    const known = Object.hasOwn(BPF_HELPERS, helper) ? BPF_HELPERS[helper] : undefined;
    if (known === undefined)
      throw this.code.error(
        'ERR_BPF_HELPER',
        `there is no helper "${String(helper)}"${didYouMean(nearestNames(String(helper).replace(/^bpf_/, ''), Object.keys(BPF_HELPERS)))}`,
        'BPF_HELPERS has the helpers of the kernel by name (bpf-helpers(7)).',
      );
    const [number, most] = known;
    const least = helper === 'trace_printk' ? BPF_TRACE_PRINTK_LEAST_ARGUMENTS : most;
    if (args.length > 0 && (args.length < least || args.length > most))
      throw this.code.error(
        'ERR_BPF_HELPER',
        `${helper} takes ${most} arguments, but got ${args.length}`,
        'bpf-helpers(7) explains its arguments.',
      );
    this.#putArguments(args);
    this.callHelper(number);
  }

  // Maps.

  /** `r1 = map ll`: the map itself, for a helper. */
  loadMap(destination: Register, map: BpfMapDefinition): void {
    this.written(destination);
    this.code.emitMapReference(destination.number, BPF_PSEUDO_MAP_FD, this.#refer(map), 'descriptor', 0);
  }

  /** The address of the first value of an array map, plus an offset: no look-up, no null. */
  loadMapValue(destination: Register, map: BpfMapDefinition, offsetBytes = 0): void {
    if (map.type !== 'array')
      throw this.code.error(
        'ERR_BPF_MAP',
        `${map.name} is a map of type ${map.type}`,
        'Only values of an array have an address that holds for all CPUs.',
      );
    if (offsetBytes < 0 || offsetBytes >= map.valueSizeBytes)
      throw this.code.error(
        'ERR_BPF_MAP',
        `offset ${offsetBytes} is not in the first value of ${map.name} (${map.valueSizeBytes} bytes)`,
        `Give an offset below ${map.valueSizeBytes}.`,
      );
    this.written(destination);
    this.code.emitMapReference(
      destination.number,
      BPF_PSEUDO_MAP_VALUE,
      this.#refer(map),
      'value',
      offsetBytes,
    );
  }

  /** r0 is the address of the value under a key, or null. */
  mapLookup(map: BpfMapDefinition, key: MapOperand): void {
    this.call('map_lookup_elem', map, this.#part(map, 'key', key));
  }

  /** Put a value under a key; r0 is 0, or the negative error number. */
  mapUpdate(map: BpfMapDefinition, key: MapOperand, value: MapOperand, flags: number = BPF_ANY): void {
    const keyMemory = this.#part(map, 'key', key);
    this.call('map_update_elem', map, keyMemory, this.#part(map, 'value', value), flags);
  }

  /** Removes the entry of a key. r0 is 0, or a negative errno. */
  mapDelete(map: BpfMapDefinition, key: MapOperand): void {
    this.call('map_delete_elem', map, this.#part(map, 'key', key));
  }

  /**
   * Add to the number under a key, with nothing lost between CPUs or to an interrupt; a key that is not there
   * yet begins with the amount. `onFull` runs where the map has no room (or, for an array, no such key):
   * count it, so that no loss is silent. The amount is a number or one of r6 to r9, which survive the calls.
   */
  countInMap(
    map: BpfMapDefinition,
    key: MapOperand,
    amount: number | Register = 1,
    onFull?: () => void,
  ): void {
    if (map.valueSizeBytes !== 8 && map.valueSizeBytes !== 4)
      throw this.code.error(
        'ERR_BPF_MAP',
        `a value of ${map.name} has ${map.valueSizeBytes} bytes`,
        'A count has 4 or 8 bytes; for several counts, asm.addToMap() takes the layout of the value.',
      );
    const Count = bpfStruct({ count: map.valueSizeBytes === 8 ? 'u64' : 'u32' });
    this.code.asOne(() => this.addToMap(map, key, Count, { count: amount }, onFull));
  }

  /**
   * The same for several numbers of one value: `asm.addToMap(buckets, key, Bucket, {
   * samples: 1, period: r7 }, onFull)`.
   */
  addToMap<const F extends StructFields>(
    map: BpfMapDefinition,
    key: MapOperand,
    layout: StructLayout<F>,
    amounts: { readonly [K in keyof F]?: number | Register },
    onFull?: () => void,
  ): void {
    const fields = Object.keys(amounts).map((name) => ({ name, amount: amounts[name]! }));
    this.#checkAmounts(map, key, layout, fields);
    // An array has all its keys from the start.
    const isArray = map.type === 'array' || map.type === 'per-cpu-array';
    const full = onFull === undefined ? undefined : () => this.code.asCaller(() => this.block(onFull));
    const add = () => {
      const value = layout.at(r0);
      for (const { name, amount } of fields) {
        if (typeof amount === 'number') this.move(r1, amount);
        this.atomicAdd(value[name]!, typeof amount === 'number' ? r1 : whole(amount));
      }
    };
    this.code.asOne(() => {
      const keyMemory = this.#part(map, 'key', key);
      this.mapLookup(map, keyMemory);
      this.ifNotNull(r0, add, () => {
        if (isArray) return full?.();
        const first = this.frame.spare('value', layout.sizeBytes);
        if (fields.length < Object.keys(layout.fields).length) this.zero(first);
        const value = layout.at(first.base, first.offsetBytes);
        for (const { name, amount } of fields)
          this.store(value[name]!, typeof amount === 'number' ? amount : whole(amount));
        this.mapUpdate(map, keyMemory, first, BPF_NOEXIST);
        const lookAgain = () => {
          // Either another CPU was first, and it is there now, or there is no room.
          this.mapLookup(map, keyMemory);
          this.ifNotNull(r0, add, full);
        };
        this.if(r0, '!=', 0, lookAgain, this.onInserted(map));
      });
    });
  }

  /**
   * What is to be done where a counter has put a new key into a map. A class below may
   * have something; loses r0 to r5.
   */
  protected onInserted(_map: BpfMapDefinition): (() => void) | undefined {
    return undefined;
  }

  #checkAmounts(
    map: BpfMapDefinition,
    key: MapOperand,
    layout: StructLayout<StructFields>,
    fields: readonly { readonly name: string; readonly amount: number | Register }[],
  ): void {
    if (layout.sizeBytes !== map.valueSizeBytes)
      throw this.code.error(
        'ERR_BPF_MAP',
        `the layout has ${layout.sizeBytes} bytes, a value of ${map.name} has ${map.valueSizeBytes}`,
        'Make the map with valueSizeBytes: layout.sizeBytes.',
      );
    if (typeof key === 'object' && key.kind === 'memory' && key.base.number < 6)
      throw this.code.error(
        'ERR_BPF_OPERAND',
        `the key lies at ${registerName(key.base)}, which the look-up loses`,
        "Put it on the stack: asm.stack('key', size).",
      );
    for (const { name, amount } of fields) {
      if (layout.fields[name] === undefined)
        throw this.code.error(
          'ERR_BPF_MAP',
          `the layout has no field "${name}"`,
          `It has ${Object.keys(layout.fields).join(', ')}.`,
        );
      if (typeof amount === 'object' && (amount.number < 6 || amount.number > 9))
        throw this.code.error(
          'ERR_BPF_OPERAND',
          `the amount is in ${registerName(amount)}, which the look-up loses`,
          'Keep it in one of r6 to r9.',
        );
    }
  }

  // Ring buffers.

  /**
   * Reserve a record, fill it in the block, hand it over: `asm.record(ring, Sample, r7, (sample) =>
   * asm.store(sample.ip, r8))`. The register holds its address meanwhile (one of r6 to r9).
   * `onFull` runs where the ring has no room: count it. The block must come to its end: what is
   * reserved is to be handed over.
   */
  record<const F extends StructFields>(
    ring: BpfMapDefinition,
    layout: StructLayout<F>,
    register: Register,
    fill: (record: { readonly [K in keyof F]: MemoryOperand }) => void,
    onFull?: () => void,
    flags = 0,
  ): void {
    if (ring.type !== 'ring-buffer')
      throw this.code.error(
        'ERR_BPF_MAP',
        `${ring.name} is a map of type ${ring.type}, not a ring buffer`,
        "Define a map of type 'ring-buffer' for it.",
      );
    const fillRecord = () => {
      this.move(register, r0);
      this.code.asCaller(() => this.block(() => fill(layout.at(register))));
      if (!this.code.isReachable)
        throw this.code.error(
          'ERR_BPF_RECORD',
          'the block that fills a record returns before the record is handed over',
          'Decide before asm.record(), or after it.',
        );
      this.call('ringbuf_submit', register, flags);
    };
    const full = onFull === undefined ? undefined : () => this.code.asCaller(() => this.block(onFull));
    this.code.asOne(() => {
      this.call('ringbuf_reserve', ring, layout.sizeBytes, 0);
      this.ifNotNull(r0, fillRecord, full);
    });
  }

  /** Wake whoever waits on a ring buffer, now: an empty note of eight bytes with a number in it. */
  notify(ring: BpfMapDefinition, reason = 0): void {
    const note = this.frame.spare('note', 8);
    this.store(note, reason);
    this.call('ringbuf_output', ring, note, 8, BPF_RB_FORCE_WAKEUP);
  }

  #putArguments(args: readonly CallArgument[]): void {
    const moves = orderMoves(
      args.map((argument) => (typeof argument === 'object' && 'kind' in argument ? argument : null)),
    );
    for (const { target, source, addBytes } of moves) {
      if (source.bits === 32 || source.number !== target.number)
        this.move({ ...target, bits: source.bits }, source);
      if (addBytes !== 0) this.add(target, addBytes);
    }
    args.forEach((argument, index) => {
      const target = ARGUMENT_REGISTERS[index]!;
      if (typeof argument !== 'object') this.move(target, argument);
      else if (!('kind' in argument)) this.loadMap(target, argument);
    });
  }

  /** A key or value in memory, of the size that the map has. */
  #part(map: BpfMapDefinition, part: 'key' | 'value', operand: MapOperand): MemoryOperand {
    const sizeBytes = part === 'key' ? map.keySizeBytes : map.valueSizeBytes;
    if (typeof operand === 'object' && operand.kind === 'memory') {
      if (operand.sizeBytes !== sizeBytes)
        throw this.code.error(
          'ERR_BPF_MAP',
          `the ${part} has ${operand.sizeBytes} bytes, those of ${map.name} have ${sizeBytes}`,
          `Give memory of ${sizeBytes} bytes.`,
        );
      return operand;
    }
    if (sizeBytes !== 4 && sizeBytes !== 8)
      throw this.code.error(
        'ERR_BPF_MAP',
        `a ${part} of ${map.name} has ${sizeBytes} bytes`,
        `Put it into memory: asm.stack('${part}', ${sizeBytes}).`,
      );
    const slot = this.frame.spare(part, sizeBytes);
    this.store(slot, typeof operand === 'object' && sizeBytes === 8 ? whole(operand) : operand);
    return slot;
  }

  #refer(map: BpfMapDefinition): string {
    const known = this.#maps.get(map.name);
    if (known === undefined) {
      if (!/^[A-Za-z0-9_.]+$/.test(map.name))
        throw this.code.error(
          'ERR_BPF_MAP',
          `"${map.name}" is not a name for a map`,
          'The kernel accepts letters, digits, _ and a full stop.',
        );
      this.#maps.set(map.name, map);
    } else if (known !== map && !isSameMap(known, map)) {
      throw this.code.error(
        'ERR_BPF_MAP',
        `two different maps are called ${map.name}`,
        'Maps with one name are one map; give one of them another name.',
      );
    }
    return map.name;
  }
}

function isSameMap(a: BpfMapDefinition, b: BpfMapDefinition): boolean {
  return (
    a.type === b.type &&
    a.keySizeBytes === b.keySizeBytes &&
    a.valueSizeBytes === b.valueSizeBytes &&
    a.maxEntries === b.maxEntries &&
    (a.flags ?? 0) === (b.flags ?? 0)
  );
}
