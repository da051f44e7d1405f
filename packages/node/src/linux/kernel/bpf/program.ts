/**
 * A program and its maps as plain data: what the assembler makes, the loader loads and the disassembler
 * reads. Nothing here touches a kernel, so a program can be built, looked at and tested without any right.
 */

import type { BpfMapType, BpfProgramType } from '@counterpoint/core/abi';
import { checkArgument } from '@counterpoint/core/base';

export type { BpfMapType, BpfProgramType };

/**
 * A map to be made when the first program that refers to it is loaded. Programs
 * of one set share maps by name.
 */
export interface BpfMapDefinition {
  /** Its name: at most 15 characters of it reach the kernel (BPF_OBJ_NAME_LEN of linux/bpf.h). */
  readonly name: string;
  /** Its type, such as `hash` for BPF_MAP_TYPE_HASH. */
  readonly type: BpfMapType;
  /** Size of a key; 0 for a ring buffer. */
  readonly keySizeBytes: number;
  /** Size of a value; 0 for a ring buffer. */
  readonly valueSizeBytes: number;
  /** Most entries; of a ring buffer its bytes, a power of two and of whole pages. */
  readonly maxEntries: number;
  /** `BPF_F_*` of `BPF_MAP_CREATE`. */
  readonly flags?: number;
}

/**
 * The slot of a 64-bit load (`ld_imm64`, two slots) that the loader completes: with the descriptor of the
 * map, or with the address of the first value of an array map plus an offset.
 */
export interface BpfMapReference {
  /** The first slot of the pair. */
  readonly instruction: number;
  /** The name of the map. */
  readonly map: string;
  /** The map itself (BPF_PSEUDO_MAP_FD), or the address of its first value (BPF_PSEUDO_MAP_VALUE). */
  readonly kind: 'descriptor' | 'value';
  /** Of `value`: the place in the first value. */
  readonly offsetBytes: number;
}

/** A place in somebody's source; lines and columns count from 1. */
export interface SourceLine {
  /** Path of the file. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** An assembled program, as plain data: what the loader takes. */
export interface BpfProgram {
  /** As the kernel lists it: it keeps the first 15 characters. */
  readonly name: string;
  /** Its type, which decides what it may do and where it may be attached. */
  readonly type: BpfProgramType;
  /** Where a `tracing` program goes: the function's number in the kernel's BTF (`kernelFunctionId`). */
  readonly attach?: { readonly type: number; readonly btfId: number };
  /** `GPL` where a helper asks for it. */
  readonly license: string;
  /** Eight bytes a slot, little-endian; map references are still 0. */
  readonly instructions: Uint8Array;
  /** Every map that the program refers to. */
  readonly maps: readonly BpfMapDefinition[];
  /** The instructions in which the loader has to put a map. */
  readonly mapReferences: readonly BpfMapReference[];
  /** Per slot: the source line that asked for it, where it is known. */
  readonly lines: readonly (SourceLine | null)[];
}

/** `format.ts:12:5`, for messages. */
export function formatSourceLine(line: SourceLine): string {
  checkArgument({ file: 'string' }, 'formatSourceLine()', 'the line', line, '{ file, line, column }');
  return `${line.file}:${line.line}:${line.column}`;
}
