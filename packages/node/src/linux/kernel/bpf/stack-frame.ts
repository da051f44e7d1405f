/**
 * The 512 bytes below r10, given out by name:
 *
 *   r10 - 512 ............ r10 - 24 [ key  16 ] r10 - 8 [ now  8 ] r10
 *
 * A slot is aligned to 8 bytes (to its size where it is smaller), so its fields may be anything.
 */
import { BPF_STACK_SIZE } from '@counterpoint/core/abi';
import type { MemoryOperand } from './operands.ts';
import { memory, r10 } from './operands.ts';
import type { ProgramWriter } from './program-writer.ts';
import type { StructFields, StructLayout } from './struct-layout.ts';

/** Named memory on the stack: loaded, stored, or passed by its address. */
export interface StackSlot extends MemoryOperand {
  /** Its name. */
  readonly name: string;
}

/** A slot with the fields of a struct. */
export interface StructSlot<F extends StructFields> extends StackSlot {
  /** The memory of each field, by name. */
  readonly fields: { readonly [K in keyof F]: MemoryOperand };
}

/** The stack of a program: slots by name, below r10. */
export class StackFrame {
  readonly #slots = new Map<string, StackSlot>();
  readonly #code: ProgramWriter;
  #usedBytes = 0;

  /** An empty one. `code` makes its errors. */
  constructor(code: ProgramWriter) {
    this.#code = code;
  }

  /** A new slot of that name. Throws ERR_BPF_STACK where the name is used, or where 512 bytes are too few. */
  add(name: string, sizeBytes: number): StackSlot {
    if (this.#slots.has(name))
      throw this.#code.error(
        'ERR_BPF_STACK',
        `there is already a stack slot "${name}"`,
        'Give one of them another name.',
      );
    return this.#put(name, sizeBytes);
  }

  /** A slot that the assembler needs for a moment: the same one for the same purpose and size. */
  spare(purpose: string, sizeBytes: number): StackSlot {
    const name = `${purpose} of ${sizeBytes} bytes`;
    return this.#slots.get(name) ?? this.#put(name, sizeBytes);
  }

  #put(name: string, sizeBytes: number): StackSlot {
    if (!Number.isInteger(sizeBytes) || sizeBytes < 1)
      throw this.#code.error(
        'ERR_BPF_STACK',
        `the stack slot "${name}" has ${sizeBytes} bytes`,
        'Give a whole number from 1.',
      );
    const alignment = sizeBytes > 4 ? 8 : sizeBytes > 2 ? 4 : sizeBytes;
    const usedBytes = Math.ceil((this.#usedBytes + sizeBytes) / alignment) * alignment;
    if (usedBytes > BPF_STACK_SIZE)
      throw this.#code.error(
        'ERR_BPF_STACK',
        `the stack slot "${name}" of ${sizeBytes} bytes does not fit: ${this.#usedBytes} of ${BPF_STACK_SIZE} bytes are used (${[...this.#slots.keys()].join(', ')})`,
        'Keep large records in a per-CPU array of one entry, or in the ring buffer.',
      );
    this.#usedBytes = usedBytes;
    const slot: StackSlot = { ...memory(r10, -usedBytes, sizeBytes), name };
    this.#slots.set(name, slot);
    return slot;
  }
}

export function withFields<const F extends StructFields>(
  slot: StackSlot,
  layout: StructLayout<F>,
): StructSlot<F> {
  return { ...slot, fields: layout.at(r10, slot.offsetBytes) };
}
