/** The context of a program and its stack: fields by name, memory by name. */

import {
  ARM64_EXCEPTION_LEVEL_MASK,
  BPF_PROGRAM_TYPES,
  BPF_TRACEPOINT_HIDDEN_BYTES,
  type BpfArchitecture,
  type BpfProgramType,
  X64_PRIVILEGE_MASK,
} from '@counterpoint/core/abi';
import { didYouMean, nearestNames } from '@counterpoint/core/base';
import {
  checkOptions,
  either,
  listOf,
  OBJECT,
  type OptionsOf,
  oneOf,
  required,
  TEXT,
} from '../../../host/options/index.ts';
import { BlockAssembler } from './block-assembler.ts';
import { type CallSite, readCallSite, takeCallSite } from './caller-line.ts';
import { type CommonContextField, type ContextField, contextFields } from './context-fields.ts';
import { type MemoryOperand, memory, type Register, r1, r6, registerName, whole } from './operands.ts';
import type { PidNamespace } from './pid-namespace.ts';
import { formatSourceLine } from './program.ts';
import { StackFrame, type StackSlot, type StructSlot, withFields } from './stack-frame.ts';
import type { StructFields, StructLayout } from './struct-layout.ts';

/** What an assembler has to know of the program before its first instruction. */
export interface BpfAssemblerOptions {
  /** As the kernel lists it: it keeps the first 15 characters. */
  readonly name: string;
  /** Type of the program: it decides what r1 points to, and which helpers there are. */
  readonly type: BpfProgramType;
  /** Many helpers answer only programs whose license the kernel takes for GPL-compatible. Default `GPL`. */
  readonly license?: string;
  /** Whose registers the context holds. Default: this machine's. */
  readonly architecture?: BpfArchitecture;
  /** The fields of the tracepoint that a tracepoint program is for. */
  readonly fields?: readonly ContextField[];
  /**
   * Whose numbers `loadProcessId` and `loadThreadId` give: see `ownPidNamespace`. Default,
   * and null: those of the first.
   */
  readonly pidNamespace?: PidNamespace | null;
}

const OPTIONS: OptionsOf<BpfAssemblerOptions> = {
  name: required(TEXT),
  type: required(oneOf(...Object.keys(BPF_PROGRAM_TYPES))),
  license: TEXT,
  architecture: TEXT,
  fields: listOf(OBJECT, 'a list of fields'),
  pidNamespace: either(oneOf(null), OBJECT),
};

/** The context of a program, fields of it by name, and its stack. */
export class ContextAssembler extends BlockAssembler {
  /** What the program is for. */
  protected readonly options: BpfAssemblerOptions;
  /** The 512 bytes of stack that a program has (MAX_BPF_STACK). */
  protected frame: StackFrame = new StackFrame(this.code);
  readonly #architecture: BpfArchitecture | null;
  /** Where the context is, or what took it away. */
  #context: { readonly register: Register; readonly lostAt: CallSite | null } = {
    register: r1,
    lostAt: null,
  };

  /** Begins a program of that type. r1 is the context. */
  constructor(options: BpfAssemblerOptions) {
    super();
    checkOptions('BpfAssembler', options, OPTIONS);
    this.options = options;
    const architecture = options.architecture ?? process.arch;
    this.#architecture = architecture === 'x64' || architecture === 'arm64' ? architecture : null;
  }

  // Stack.

  /**
   * Memory on the stack by name, of a size or with the fields of a struct. What is in it before
   * the first store is nothing.
   */
  stack(name: string, sizeBytes: number): StackSlot;
  /** The same for a layout: a slot with a part for each field. */
  stack<const F extends StructFields>(name: string, layout: StructLayout<F>): StructSlot<F>;
  stack(name: string, of: number | StructLayout<StructFields>): StackSlot {
    return typeof of === 'number'
      ? this.frame.add(name, of)
      : withFields(this.frame.add(name, of.sizeBytes), of);
  }

  /** Zeros from end to end, in as few stores as its alignment allows. */
  zero(to: MemoryOperand): void {
    forEachPiece(to.offsetBytes, to.offsetBytes, to.sizeBytes, (at, sizeBytes) =>
      this.store(memory(to.base, to.offsetBytes + at, sizeBytes), 0),
    );
  }

  /** The address of memory: `asm.address(r2, key)` is r2 = r10, r2 += -16. */
  address(destination: Register, of: MemoryOperand): void {
    if (of.base.number !== destination.number) this.move(destination, of.base);
    if (of.offsetBytes !== 0) this.add(destination, of.offsetBytes);
  }

  // Context.

  /** The register that holds the context: r1 at the start, until a call or a write to it; see saveContext. */
  get context(): Register {
    const { register, lostAt } = this.#context;
    if (lostAt === null) return register;
    const line = readCallSite(lostAt);
    throw this.code.error(
      'ERR_BPF_CONTEXT',
      `the context was in ${registerName(register)}${line === null ? '' : ` until ${formatSourceLine(line)}`}`,
      'Keep it from the start in a register that survives calls: asm.saveContext(r6).',
    );
  }

  /** Keep the context in a register that survives calls. */
  saveContext(register: Register = r6): void {
    this.move(register, this.context);
    this.#context = { register, lostAt: null };
  }

  /**
   * A field of the context into a register, with its sign. perf-event and kprobe programs have the registers
   * of what was interrupted (`ip`, `sp`, `arg1` or by the architecture's names), perf-event ones
   * `samplePeriod` and `address` too, tracepoint programs the fields given, raw tracepoints `arg1` and so on.
   */
  loadContext(destination: Register, field: CommonContextField | (string & {})): void {
    const { offset, size, isSigned, name } = this.contextField(field);
    if (size > 8 || (size & (size - 1)) !== 0)
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        `the field ${name} has ${size} bytes`,
        'Copy it: asm.copyContext(slot, field, r2).',
      );
    this.load(size === 8 ? destination : whole(destination), memory(this.context, offset, size));
    if (!isSigned || size === 8) return;
    // Two shifts, since a context cannot be read with its sign on every kernel.
    this.shiftLeft(whole(destination), 64 - size * 8);
    this.shiftRightSigned(whole(destination), 64 - size * 8);
  }

  /** A field of any size, or its beginning, into memory by way of a register. */
  copyContext(to: MemoryOperand, field: string, scratch: Register): void {
    const { offset, size, name } = this.contextField(field);
    if (to.sizeBytes > size)
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        `the field ${name} has ${size} bytes, but ${to.sizeBytes} are requested`,
        `Give memory of at most ${size} bytes.`,
      );
    const context = this.context;
    forEachPiece(offset, to.offsetBytes, to.sizeBytes, (at, sizeBytes) => {
      this.load(scratch, memory(context, offset + at, sizeBytes));
      this.store(memory(to.base, to.offsetBytes + at, sizeBytes), scratch);
    });
  }

  /** 1 where user code was interrupted, 0 where the kernel was. */
  loadIsUserMode(destination: Register): void {
    const all = whole(destination);
    if (this.#architecture === 'arm64') {
      this.loadContext(all, 'pstate');
      this.and(all, ARM64_EXCEPTION_LEVEL_MASK);
      // 0 is user code: only 0 - 1 has the highest bit.
      this.subtract(all, 1);
    } else {
      this.loadContext(all, 'cs');
      this.and(all, X64_PRIVILEGE_MASK);
      // Anything but 0 is user code: its negative has the highest bit.
      this.negate(all);
    }
    this.shiftRight(all, 63);
  }

  /** Another stack frame, and r1 is an argument: a function begins. */
  protected beginFunction(): void {
    this.frame = new StackFrame(this.code);
    this.#context = { register: r1, lostAt: takeCallSite() };
  }

  /** Called with each register that an instruction writes. */
  protected override written(destination: Register): Register {
    super.written(destination);
    const { register, lostAt } = this.#context;
    if (lostAt === null && register.number === destination.number)
      this.#context = { register, lostAt: takeCallSite() };
    return destination;
  }

  /** Called behind each call of a helper: r1 to r5 hold nothing any more. */
  protected override called(): void {
    super.called();
    const { register, lostAt } = this.#context;
    if (lostAt === null && register.number <= 5) this.#context = { register, lostAt: takeCallSite() };
  }

  /** A block that does not come to its end takes nothing away from what follows it. */
  protected override block(body: () => unknown): void {
    const before = this.#context;
    super.block(body);
    if (!this.code.isReachable) this.#context = before;
  }

  /** A field of the context by name. */
  protected contextField(name: string): ContextField {
    const { type, fields: given = [] } = this.options;
    const fields = contextFields(type, this.#architecture, given);
    if (fields === null)
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        type === 'perf-event' || type === 'kprobe'
          ? `the registers of ${process.arch} have no names here`
          : `the context of a program of type ${type} has no named fields`,
        'Load by offset: asm.load(r2, u64(asm.context, offset)).',
      );
    const field = fields.find((one) => one.name === name);
    if (field !== undefined) return field;
    const names = fields.map((one) => one.name);
    if (type === 'tracepoint' && given.some((one) => one.name === name))
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        `the field ${name} is in the first ${BPF_TRACEPOINT_HIDDEN_BYTES} bytes of the record, which programs cannot read`,
        'Helpers tell who runs: asm.loadProcessId(), asm.loadThreadId().',
      );
    throw this.code.error(
      'ERR_BPF_CONTEXT',
      `there is no field "${name}" in the context of a program of type ${type}${didYouMean(nearestNames(name, names))}`,
      names.length === 0 ? 'The assembler has no fields.' : `There are ${names.join(', ')}.`,
    );
  }
}

/** Cut a stretch into accesses of 8, 4, 2 or 1 bytes, aligned at both its ends. */
function forEachPiece(
  from: number,
  to: number,
  sizeBytes: number,
  visit: (at: number, sizeBytes: number) => void,
): void {
  for (let at = 0; at < sizeBytes; ) {
    let piece = 8;
    while ((from + at) % piece !== 0 || (to + at) % piece !== 0 || piece > sizeBytes - at) piece >>= 1;
    visit(at, piece);
    at += piece;
  }
}
