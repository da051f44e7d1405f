/**
 * The slots of a program as they grow: places by name, jumps that are completed at the end, whose
 * line asked for what, and whether the next slot can be reached from the one before. It knows nothing
 * of what the instructions mean.
 */
import {
  BPF_CALL,
  BPF_CLASS_MASK,
  BPF_EXIT,
  BPF_JA,
  BPF_JMP,
  BPF_JMP32,
  BPF_OPERATION_MASK,
  BPF_PSEUDO_CALL,
} from '@counterpoint/core/abi';
import { AssemblerError } from './assembler-error.ts';
import { type CallSite, readCallSite, takeCallSite } from './caller-line.ts';
import type { BpfMapReference, SourceLine } from './program.ts';
import { encodeSlots, type Slot, WIDE_IMMEDIATE } from './slots.ts';

/** A place that jumps go to. */
export interface Label {
  /** Its name, for messages. */
  readonly name: string;
  /** The slot where it was placed; null until then. */
  slot: number | null;
  /** Where it was first asked for, to complain about. */
  readonly site: CallSite;
  /** Whether an instruction jumps to it. */
  isUsed: boolean;
}

/** How a slot says where a label is: by a 16-bit offset, by the immediate, or by whichever is wide enough. */
export type JumpForm = 'offset' | 'immediate' | 'shortest';

interface Jump {
  readonly slot: number;
  readonly label: Label;
  readonly form: JumpForm;
}

/** What a program's instructions come to. */
export interface FinishedSlots {
  /** The instructions, 8 bytes each (struct bpf_insn of linux/bpf.h). */
  readonly instructions: Uint8Array;
  /** The instructions in which the loader has to put a map. */
  readonly mapReferences: readonly BpfMapReference[];
  /**
   * Per slot; found at the first look, since it costs more than all the rest and
   * only errors and listings ask.
   */
  readonly lines: readonly (SourceLine | null)[];
}

/** Takes instructions one by one, remembers who asked for them, and places jumps at the end. */
export class ProgramWriter {
  readonly #slots: Slot[] = [];
  readonly #sites: CallSite[] = [];
  readonly #labels = new Map<string, Label>();
  readonly #jumps: Jump[] = [];
  readonly #mapReferences: BpfMapReference[] = [];
  #isReachable = true;
  /** Whose line it is while one method writes many instructions. */
  #site: CallSite | null = null;

  /** How many slots there are by now. */
  get length(): number {
    return this.#slots.length;
  }

  /** Does the slot before lead to the next one? Not after an exit or a jump, until a label. */
  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** One instruction: opcode, registers, offset and immediate (struct bpf_insn of linux/bpf.h). */
  emit(opcode: number, destination = 0, source = 0, offset = 0, immediate = 0): void {
    this.#slots.push({ opcode, destination, source, offset, immediate });
    this.#sites.push(this.#site ?? takeCallSite());
    this.#isReachable = !endsFlow(opcode);
  }

  /** A 64-bit immediate in its two slots. */
  emitWide(destination: number, source: number, low: number, high: number): void {
    this.emit(WIDE_IMMEDIATE, destination, source, 0, low);
    this.emit(0, 0, 0, 0, high);
  }

  /** A load of a map's address, in two slots. The loader fills them. */
  emitMapReference(
    destination: number,
    source: number,
    map: string,
    kind: BpfMapReference['kind'],
    offsetBytes: number,
  ): void {
    this.#mapReferences.push({ instruction: this.length, map, kind, offsetBytes });
    this.emitWide(destination, source, 0, 0);
  }

  /** A jump to a label, whose distance is filled in by `finish()`. */
  emitJump(label: Label, form: JumpForm, opcode: number, destination = 0, source = 0, immediate = 0): void {
    label.isUsed = true;
    this.#jumps.push({ slot: this.length, label, form });
    this.emit(opcode, destination, source, 0, immediate);
  }

  /** An unconditional jump, in the long form of cpu v4 only where the distance needs it. */
  jump(label: Label): void {
    this.emitJump(label, 'shortest', BPF_JMP | BPF_JA);
  }

  /** All that is written in here was asked for by the one line that called. */
  asOne(body: () => void): void {
    this.#withSite(this.#site ?? takeCallSite(), body);
  }

  /** A block of the caller's: its lines count again. */
  asCaller(body: () => void): void {
    this.#withSite(null, body);
  }

  #withSite(site: CallSite | null, body: () => void): void {
    const before = this.#site;
    this.#site = site;
    try {
      body();
    } finally {
      this.#site = before;
    }
  }

  /** A label of the caller's, by name. */
  named(name: string): Label {
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    const label = this.unnamed(name);
    this.#labels.set(name, label);
    return label;
  }

  /** A label of ours, which no name leads to. */
  unnamed(name: string): Label {
    return { name, slot: null, site: takeCallSite(), isUsed: false };
  }

  /** The label is here. A named one may be jumped to later, so what follows counts as reachable. */
  place(label: Label): void {
    if (label.slot !== null)
      throw this.error(
        'ERR_BPF_LABEL',
        `the label "${label.name}" is placed a second time`,
        'Give one of them another name.',
      );
    label.slot = this.length;
    if (label.isUsed || this.#labels.get(label.name) === label) this.#isReachable = true;
  }

  /** An error that names the line of the instruction. */
  error(
    code: string,
    message: string,
    remedy: string,
    site: CallSite = this.#site ?? takeCallSite(),
  ): AssemblerError {
    return new AssemblerError(code, readCallSite(site), message, remedy);
  }

  /** The line of the instruction that was written last. */
  lastSite(): CallSite {
    return this.#sites.at(-1) ?? takeCallSite();
  }

  /** The line of the instruction that was written last; null where it is not known. */
  lastLine(): SourceLine | null {
    const site = this.#sites.at(-1);
    return site === undefined ? null : readCallSite(site);
  }

  /** The first instruction beyond this number, for the error. */
  siteBeyond(slots: number): CallSite | undefined {
    return this.#sites[slots];
  }

  /** The instructions with their jumps filled in. Throws for labels that nothing placed. */
  finish(): FinishedSlots {
    if (this.length === 0)
      throw this.error('ERR_BPF_END', 'the program is empty', 'Return at least a number.');
    const slots = this.#slots.slice();
    for (const jump of this.#jumps) slots[jump.slot] = this.#complete(slots[jump.slot]!, jump);
    this.#checkFlow(slots);
    const sites = this.#sites.slice();
    let lines: readonly (SourceLine | null)[] | null = null;
    return {
      instructions: encodeSlots(slots),
      mapReferences: this.#mapReferences.slice(),
      get lines() {
        lines ??= sites.map(readCallSite);
        return lines;
      },
    };
  }

  #complete(slot: Slot, { slot: from, label, form }: Jump): Slot {
    const site = this.#sites[from]!;
    if (label.slot === null)
      throw this.error(
        'ERR_BPF_LABEL',
        `the label "${label.name}" is not placed`,
        `Place it: asm.label('${label.name}').`,
        site,
      );
    // Relative to the slot after the jump.
    const distance = label.slot - from - 1;
    if (form === 'immediate') return { ...slot, immediate: distance };
    if (distance >= -0x8000 && distance <= 0x7fff) return { ...slot, offset: distance };
    if (form === 'shortest') return { ...slot, opcode: BPF_JMP32 | BPF_JA, immediate: distance };
    throw this.error(
      'ERR_BPF_JUMP_TOO_FAR',
      `"${label.name}" is ${distance} slots away, but a conditional jump reaches at most 32,767`,
      'Use the opposite condition to jump over an unconditional asm.jump(), which reaches any distance.',
      site,
    );
  }

  /**
   * The verifier refuses what nothing leads to, and what runs past the end: both are said here with the line.
   */
  #checkFlow(slots: readonly Slot[]): void {
    const reached = new Uint8Array(slots.length);
    const targets = new Map<number, number>();
    const pending = [0];
    for (const { slot, label } of this.#jumps) {
      // A function begins a flow of its own; a jump goes on with the one it is in.
      if (namesFunction(slots[slot]!)) pending.push(label.slot!);
      else targets.set(slot, label.slot!);
    }
    while (pending.length > 0) {
      for (let at = pending.pop()!; reached[at] !== 1; ) {
        const slot = slots[at];
        if (slot === undefined)
          throw this.error(
            'ERR_BPF_END',
            'the program runs past its end',
            'End it: asm.return(0).',
            this.lastSite(),
          );
        const size = slot.opcode === WIDE_IMMEDIATE ? 2 : 1;
        reached.fill(1, at, at + size);
        const target = targets.get(at);
        if (target !== undefined) pending.push(target);
        if (endsFlow(slot.opcode)) break;
        at += size;
      }
    }
    const dead = reached.indexOf(0);
    if (dead >= 0)
      throw this.error(
        'ERR_BPF_UNREACHABLE',
        'nothing leads here',
        'The lines before it return or jump away.',
        this.#sites[dead],
      );
  }
}

function endsFlow(opcode: number): boolean {
  const operation = opcode & BPF_OPERATION_MASK;
  const kind = opcode & BPF_CLASS_MASK;
  if (kind === BPF_JMP) return operation === BPF_EXIT || operation === BPF_JA;
  return kind === BPF_JMP32 && operation === BPF_JA;
}

/** Its label is a function: called, or its address taken. */
function namesFunction(slot: Slot): boolean {
  return (
    slot.opcode === WIDE_IMMEDIATE ||
    (slot.opcode === (BPF_JMP | BPF_CALL) && slot.source === BPF_PSEUDO_CALL)
  );
}
