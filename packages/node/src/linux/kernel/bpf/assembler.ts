/**
 * Programs for the kernel, written in TypeScript. A method writes an instruction or a few; what is made is
 * plain data (`BpfProgram`), which needs a kernel and rights only when it is loaded. Every instruction
 * remembers the line that asked for it.
 */

import { BPF_MOST_INSTRUCTIONS } from '@counterpoint/core/abi';
import { MapAssembler } from './map-assembler.ts';
import { checkOperands } from './operand-checks.ts';
import { type MemoryOperand, memory, type Register, r0, r3 } from './operands.ts';
import type { PidNamespace } from './pid-namespace.ts';
import type { BpfProgram } from './program.ts';

/** The assembler of a whole program: instructions, blocks, context, maps and helpers. */
export class BpfAssembler extends MapAssembler {
  static {
    checkOperands(BpfAssembler, (self) => (self as BpfAssembler).code);
  }

  readonly #functions: { readonly name: string; readonly body: () => void }[] = [];

  /**
   * A function of this program, written after its end; `asm.callFunction(name)` calls it,
   * with its arguments in r1 to r5.
   */
  function(name: string, body: () => void): void {
    this.#functions.push({ name, body });
  }

  // Who runs, arithmetic of histograms, the end.

  /** The pid namespace whose numbers the next three give; null is the first. */
  get pidNamespace(): PidNamespace | null {
    return this.options.pidNamespace ?? null;
  }

  /**
   * The process (thread group) that runs. A call. 0 where it is not in the assembler's pid namespace itself.
   */
  loadProcessId(destination: Register): void {
    this.#callForNumbers();
    this.move(destination, r0);
    this.shiftRight(destination, 32);
  }

  /**
   * The thread (the kernel's pid) that runs. A call. 0 where it is not in the
   * assembler's pid namespace itself.
   */
  loadThreadId(destination: Register): void {
    this.#callForNumbers();
    this.move({ ...destination, bits: 32 }, { ...r0, bits: 32 });
  }

  /** Both in one: the high half is the process, the low one the thread. A call. */
  loadProcessAndThread(destination: Register): void {
    this.#callForNumbers();
    if (destination.number !== r0.number) this.move(destination, r0);
  }

  /**
   * The process that runs, by its number in the first pid namespace, whatever the assembler's: a key that
   * every process has, and as the fields of tracepoints name it. A call.
   */
  loadKernelProcessId(destination: Register): void {
    this.call('get_current_pid_tgid');
    this.move(destination, r0);
    this.shiftRight(destination, 32);
  }

  /** The same of the thread. */
  loadKernelThreadId(destination: Register): void {
    this.call('get_current_pid_tgid');
    this.move({ ...destination, bits: 32 }, { ...r0, bits: 32 });
  }

  /** Who runs, into r0: the one place that knows of namespaces. */
  #callForNumbers(): void {
    const namespace = this.pidNamespace;
    if (namespace === null) {
      this.call('get_current_pid_tgid');
      return;
    }
    // struct bpf_pidns_info { u32 pid, tgid }: as one number it is what the other helper gives. All 0 where
    // the helper fails, because the task is in another namespace, above or below.
    const numbers = this.frame.spare('numbers of the task', 8);
    this.call('get_ns_current_pid_tgid', namespace.device, namespace.inode, numbers, numbers.sizeBytes);
    this.load(r0, numbers);
  }

  /**
   * Go on only for one process. A program on a tracepoint or kprobe runs for every process, whatever the
   * event watches that it is attached through, and what it drops is dropped for everybody who records there:
   * so for other processes the program ends here and keeps the record. A call: save the context before. The
   * id is that of `pidNamespace`.
   */
  onlyProcess(processId: number): void {
    this.code.asOne(() => {
      this.loadProcessId(r0);
      this.if(r0, '!=', processId, () => this.return(1));
    });
  }

  /**
   * A text of any length (`__data_loc` of a tracepoint), or as much of it as there is room for, with a zero
   * at its end. A call: r0 is its length with the zero, or a negative error number.
   */
  copyContextText(to: MemoryOperand, field: string): void {
    const { name, offset, size, dynamic } = this.contextField(field);
    if (dynamic === undefined || dynamic === null)
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        `the field ${name} has its ${size} bytes in its place`,
        'Copy it: asm.copyContext(slot, field, r2).',
      );
    this.code.asOne(() => {
      const context = this.context;
      this.load(r3, memory(context, offset, 4));
      // The low half is the offset, the high one the length.
      this.and(r3, 0xffff);
      if (dynamic === 'relative') this.add(r3, offset + size);
      this.add(r3, context);
      this.call('probe_read_kernel_str', to, to.sizeBytes, r3);
    });
  }

  /**
   * The power of two at or below a number, the bucket of a histogram: 0 for 0 and 1, 10 for 1024
   * to 2047. `source` is used up.
   */
  log2(destination: Register, source: Register): void {
    if (destination.number === source.number)
      throw this.code.error('ERR_BPF_OPERAND', 'the logarithm needs two registers', 'Name two registers.');
    this.code.asOne(() => {
      this.move(destination, 0);
      // A comparison takes 31 bits at most, so what is above the low 16 comes down in steps of 16.
      for (const shift of [16, 16, 16, 8, 4, 2, 1])
        this.if(source, '>=', 2 ** shift, () => {
          this.shiftRight(source, shift);
          this.add(destination, shift);
        });
    });
  }

  /** End the program with a result. */
  return(value: number | Register): void {
    if (typeof value === 'number') this.move(r0, value);
    else if (value.number !== 0 || value.bits === 32) this.move({ ...r0, bits: value.bits }, value);
    this.exit();
  }

  /** End: perf records the event as it would without a program (whoever else records a tracepoint, too). */
  keepRecord(): void {
    this.#verdict(1);
  }

  /** End: perf records nothing for this event. On a tracepoint or kprobe nobody does, see onlyProcess. */
  dropRecord(): void {
    this.#verdict(0);
  }

  #verdict(value: number): void {
    const { type } = this.options;
    if (type !== 'perf-event' && type !== 'tracepoint' && type !== 'kprobe')
      throw this.code.error(
        'ERR_BPF_CONTEXT',
        `a program of type ${type} cannot decide on a record`,
        'Only programs of type perf-event, tracepoint and kprobe can; end this one with asm.return(0).',
      );
    this.return(value);
  }

  /** The kernel has no log of it, and so no line: it does not begin to read such a program. */
  #checkSize(name: string): void {
    const { length } = this.code;
    if (length <= BPF_MOST_INSTRUCTIONS) return;
    const [has, most] = [length, BPF_MOST_INSTRUCTIONS].map((count) => count.toLocaleString('en'));
    throw this.code.error(
      'ERR_BPF_TOO_LARGE',
      `program "${name}" has ${has} instructions, but the kernel accepts at most ${most}: this is the first one too many`,
      'Write a loop that runs in the kernel, asm.repeat(r8, 16, () => …), instead of a loop around the instructions.',
      this.code.siteBeyond(BPF_MOST_INSTRUCTIONS),
    );
  }

  /**
   * The program as data. What cannot be is said here with its line: labels, distances, an open end,
   * lines that nothing reaches.
   */
  assemble(): BpfProgram {
    for (const { name, body } of this.#functions.splice(0)) {
      this.beginFunction();
      this.label(name);
      this.block(body);
    }
    const { name, type, license = 'GPL' } = this.options;
    this.#checkSize(name);
    const finished = this.code.finish();
    return {
      name,
      type,
      license,
      maps: this.maps,
      instructions: finished.instructions,
      mapReferences: finished.mapReferences,
      get lines() {
        return finished.lines;
      },
    };
  }
}
