/**
 * The callers of what a thread was doing in user space, found in the kernel by the
 * frame information of its binaries:
 *
 *   rip ─> mapping (spaces) ─> binary ─> page ─> row ─> rule ─> CFA ─> return address, rbp ─> the next frame
 *
 * Code without a rule, such as what V8 or a JVM has made, is left by its frame pointer. Everything that
 * changes from frame to frame is in memory of the CPU, about which the verifier knows nothing: so all ways
 * through a frame end in the same state, and it follows each of them once.
 */
import { BPF_F_USER_STACK, BPF_NOEXIST, X64_USER_CODE_SEGMENT } from '@counterpoint/core/abi';
import { FLAT_RULE } from '@counterpoint/core/unwind';
import {
  type BpfAssembler,
  bpfStruct,
  type LoopControl,
  type MemoryOperand,
  type Register,
  r0,
  r1,
  r2,
  r3,
  r4,
  r5,
  r7,
  r8,
  r9,
  u32,
  u64,
} from '../../../../kernel/bpf/index.ts';
import { blank, CodeMapping, MOST_MAPPINGS, SPACE_BYTES, Space, spaces } from './address-spaces.ts';
import { MOST_PAGES, MOST_ROWS, MOST_RULES, PAGE_SHIFT, pages, rows, rules } from './frame-tables.ts';

const { kind: KIND, rbp: RBP } = FLAT_RULE;
/** So often one process is asked for, at most. */
const ASK_INTERVAL_NS = 20_000_000;
/** Stack memory is read in blocks, each of one page. */
const BLOCK_BYTES = 1024;
const SEARCH_STEPS = 11;
/** `struct pt_regs` of x86-64. */
export const USER_REGISTERS = { rbp: 32, rip: 128, cs: 136, rsp: 152 };
/** No code is below; whoever began a thread has put 0 where a return address would be. */
const LEAST_ADDRESS = 4096;
/** `struct rt_sigframe`, from the stack pointer behind the handler on: registers in `uc_mcontext`. */
const SIGNAL_FRAME = { rbp: 120, rsp: 160, rip: 168 };

/** Why a walk ended: the frames are at their limit. */
export const END_CUT = 0;
/** The outermost frame was reached. */
export const END_WHOLE = 1;
/** Nothing told how to go on, or it was wrong. */
export const END_LOST = 2;
/** The tables of a binary were not there yet. */
export const END_WAITS = 3;

/** Of one CPU. */
export const Walk = bpfStruct({
  ip: 'u64',
  sp: 'u64',
  bp: 'u64',
  /** 1 where `ip` is a return address: the call is before it. */
  back: 'u64',
  pc: 'u64',
  cfa: 'u64',
  rule: 'u64',
  ruleOffset: 'u64',
  mapStart: 'u64',
  mapEnd: 'u64',
  bias: 'u64',
  firstPage: 'u32',
  pages: 'u32',
  basePage: 'u32',
  /** Why it ended: `END_*`. */
  end: 'u32',
  blockAt: 'u64',
  address: 'u64',
  block: BLOCK_BYTES,
});

export interface UserWalk {
  /** Where `Walk` is, behind r7. */
  readonly walkAt: number;
  /** Where addresses are written, behind r7: 8 bytes each. */
  readonly framesAt: number;
  readonly depth: number;
  /** `task_struct.mm`. */
  readonly taskMm: number;
  /** Asks for a look at this process. Loses r0 to r5. */
  ask(): void;
}

/**
 * Writes the addresses behind r7, and how many there are into r9, which is 0 before. Uses r8.
 */
export function unwindUser(asm: BpfAssembler, place: UserWalk): void {
  const walk = Walk.at(r7, place.walkAt);
  asm.call('get_current_task_btf');
  asm.call('task_pt_regs', r0);
  asm.load(r1, u64(r0, USER_REGISTERS.cs));
  const byTables = () => {
    for (const [field, at] of [
      ['ip', USER_REGISTERS.rip],
      ['sp', USER_REGISTERS.rsp],
      ['bp', USER_REGISTERS.rbp],
    ] as const) {
      asm.load(r1, u64(r0, at));
      asm.store(walk[field], r1);
    }
    for (const field of ['back', 'mapStart', 'mapEnd', 'blockAt'] as const) asm.store(walk[field], 0);
    asm.store(walk.end, END_WAITS);
    loadSpace(asm, place.taskMm);
    asm.ifNotNull(r8, () => {
      asm.store(walk.end, END_CUT);
      asm.repeat(r9, place.depth, (loop) => new Frame(asm, walk, place, loop).write());
    });
  };
  asm.if(r1, '==', X64_USER_CODE_SEGMENT, byTables, () => askKernel(asm, place));
}

/** Code of 32 bits: the kernel follows its frame pointers. A thread of the kernel has none. */
function askKernel(asm: BpfAssembler, { framesAt, depth }: UserWalk): void {
  asm.call('get_stack', asm.context, u64(r7, framesAt), 8 * depth, BPF_F_USER_STACK);
  asm.if(r0, 's>', 0, () => {
    asm.move(r9, r0);
    asm.shiftRight(r9, 3);
  });
}

/** r8: the space of this process, empty where nothing is known of it; null where there is no room. */
function loadSpace(asm: BpfAssembler, taskMm: number): void {
  const process = asm.stack('process', 4);
  // Its number here, as /proc has it: in a container the kernel's is somebody else's.
  asm.loadProcessId(r0);
  asm.store(process, r0);
  asm.mapLookup(spaces, process);
  asm.ifNull(r0, () => {
    asm.loadMapValue(r3, blank);
    asm.mapUpdate(spaces, process, { ...u64(r3), sizeBytes: SPACE_BYTES }, BPF_NOEXIST);
    asm.mapLookup(spaces, process);
  });
  asm.move(r8, r0);
  asm.ifNotNull(r8, () => {
    const { mm, count } = Space.at(r8);
    asm.call('get_current_task_btf');
    asm.load(r1, u64(r0, taskMm));
    asm.load(r2, mm);
    asm.if(r1, '!=', r2, () => {
      asm.store(mm, r1);
      // Whoever wrote it down did not know it. Else another program runs.
      asm.if(r2, '!=', 0, () => asm.store(count, 0));
    });
  });
}

type WalkMemory = ReturnType<typeof Walk.at>;

class Frame {
  readonly #asm: BpfAssembler;
  readonly #walk: WalkMemory;
  readonly #place: UserWalk;
  readonly #loop: LoopControl;

  constructor(asm: BpfAssembler, walk: WalkMemory, place: UserWalk, loop: LoopControl) {
    this.#asm = asm;
    this.#walk = walk;
    this.#place = place;
    this.#loop = loop;
  }

  write(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r1, walk.ip);
    // Whoever began a thread has put 0 there.
    asm.if(r1, '<', LEAST_ADDRESS, () => {
      asm.store(walk.end, END_WHOLE);
      this.#loop.break();
    });
    asm.move(r2, r9);
    asm.shiftLeft(r2, 3);
    asm.add(r2, r7);
    asm.store(u64(r2, this.#place.framesAt), r1);
    asm.load(r2, walk.back);
    asm.subtract(r1, r2);
    asm.store(walk.pc, r1);
    this.#findMapping();
    this.#findRule();
    this.#findFrame();
    this.#leaveFunction();
  }

  /** This frame is the last. */
  #leave(end: number): void {
    this.#asm.store(this.#walk.end, end);
    this.#asm.add(r9, 1);
    this.#loop.break();
  }

  /** The mapping of r1, unless it is the one of the frame before. */
  #findMapping(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r2, walk.mapStart);
    asm.load(r3, walk.mapEnd);
    ifOutside(asm, () => this.#searchMapping());
  }

  /** The last one that begins at r1 or before, in a fixed number of steps without a jump. */
  #searchMapping(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    const [base, last] = [r2, r3];
    for (const field of ['mapStart', 'mapEnd', 'pages'] as const) asm.store(walk[field], 0);
    asm.load(last, Space.at(r8).count);
    asm.subtract(last, 1);
    const toEntry = () => {
      asm.and(r4, MOST_MAPPINGS - 1);
      asm.multiply(r4, CodeMapping.sizeBytes);
      asm.add(r4, r8);
    };
    asm.move(base, 0);
    for (let shift = Math.log2(MOST_MAPPINGS) - 1; shift >= 0; shift--) {
      asm.move(r4, base);
      asm.add(r4, 2 ** shift);
      asm.move(r5, last);
      asm.subtract(r5, r4);
      toEntry();
      asm.load(r4, CodeMapping.at(r4, Space.sizeBytes).start);
      addStep(asm, { base, below: r5, place: r4, limit: r1, shift });
    }
    asm.move(r4, base);
    toEntry();
    const entry = CodeMapping.at(r4, Space.sizeBytes);
    asm.load(r2, entry.start);
    asm.load(r3, entry.end);
    const take = () => {
      asm.store(walk.mapStart, r2);
      asm.store(walk.mapEnd, r3);
      asm.load(r1, entry.waits);
      asm.if(r1, '!=', 0, () => this.#leave(END_WAITS));
      for (const field of ['bias', 'firstPage', 'pages', 'basePage'] as const) {
        asm.load(r2, entry[field]);
        asm.store(walk[field], r2);
      }
    };
    ifOutside(asm, () => this.#ask(), take);
  }

  /** For a new look at the process, unless somebody has just asked. */
  #ask(): void {
    const asm = this.#asm;
    const { askedNs } = Space.at(r8);
    asm.call('ktime_get_ns');
    asm.load(r1, askedNs);
    asm.move(r2, r0);
    asm.subtract(r2, r1);
    asm.if(r2, '>', ASK_INTERVAL_NS, () => {
      asm.store(askedNs, r0);
      this.#place.ask();
    });
    this.#leave(END_WAITS);
  }

  /** Into `rule` and `ruleOffset`; `rule` is 0 if there is none. */
  #findRule(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.store(walk.rule, 0);
    asm.load(r3, walk.pages);
    asm.load(r1, walk.pc);
    asm.load(r2, walk.bias);
    asm.subtract(r1, r2);
    asm.move(r2, r1);
    asm.shiftRight(r2, PAGE_SHIFT);
    asm.load(r4, walk.basePage);
    asm.subtract(r2, r4);
    // Below its first page it is a huge number.
    asm.if(r2, '<', r3, () => {
      asm.load(r4, walk.firstPage);
      asm.add(r2, r4);
      asm.and(r2, MOST_PAGES - 1);
      asm.shiftLeft(r2, 2);
      asm.loadMapValue(r4, pages);
      asm.add(r4, r2);
      const [base, end] = [r2, r3];
      asm.load(base, u32(r4, 0));
      asm.load(end, u32(r4, 4));
      asm.loadMapValue(r0, rows);
      for (let step = SEARCH_STEPS - 1; step >= 0; step--) this.#searchStep(2 ** step, step);
      this.#toRow(base);
      asm.load(r2, u32(r4, 4));
      asm.and(r2, MOST_RULES - 1);
      asm.shiftLeft(r2, 3);
      asm.loadMapValue(r4, rules);
      asm.add(r4, r2);
      asm.load(r1, u32(r4, 0));
      asm.store(walk.rule, r1);
      asm.load(r1, u32(r4, 4));
      asm.shiftLeft(r1, 32);
      asm.shiftRightSigned(r1, 32);
      asm.store(walk.ruleOffset, r1);
    });
  }

  /** r2 goes on by a step if the row there is not above r3 and its place not above r1. */
  #searchStep(step: number, shift: number): void {
    const asm = this.#asm;
    asm.move(r4, r2);
    asm.add(r4, step);
    asm.move(r5, r3);
    asm.subtract(r5, r4);
    this.#toRow(r4);
    asm.load(r4, u32(r4, 0));
    addStep(asm, { base: r2, below: r5, place: r4, limit: r1, shift });
  }

  /** r4: where the row of this number is; r0 is where all begin. */
  #toRow(number: typeof r4): void {
    const asm = this.#asm;
    if (number.number !== r4.number) asm.move(r4, number);
    asm.and(r4, MOST_ROWS - 1);
    asm.shiftLeft(r4, 3);
    asm.add(r4, r0);
  }

  /** The caller's frame: into `cfa`. */
  #findFrame(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r1, walk.rule);
    asm.and(r1, 0xff);
    asm.load(r2, walk.ruleOffset);
    const relativeTo = (field: 'sp' | 'bp') => () => {
      asm.load(r3, walk[field]);
      asm.add(r3, r2);
      asm.store(walk.cfa, r3);
    };
    asm.if(r1, '==', KIND.stackPointer, relativeTo('sp'), () =>
      asm.if(r1, '==', KIND.framePointer, relativeTo('bp'), () => {
        asm.if(r1, '==', KIND.outermost, () => this.#leave(END_WHOLE));
        asm.if(r1, '==', KIND.signal, () => this.#leaveSignal());
        asm.if(
          r1,
          '==',
          KIND.atFramePointer,
          () => this.#throughFramePointer(),
          () =>
            asm.if(
              r1,
              '==',
              KIND.stub,
              () => this.#leaveStub(),
              () => this.#byFramePointer(),
            ),
        );
      }),
    );
  }

  #throughFramePointer(): void {
    const asm = this.#asm;
    asm.load(r1, this.#walk.bp);
    asm.add(r1, r2);
    this.#readWord(this.#walk.cfa);
  }

  #leaveStub(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r3, walk.sp);
    asm.add(r3, 8);
    asm.load(r1, walk.pc);
    asm.load(r4, walk.back);
    asm.add(r1, r4);
    asm.and(r1, 15);
    asm.if(r1, '>=', r2, () => asm.add(r3, 8));
    asm.store(walk.cfa, r3);
  }

  /** As a rule `CFA is rbp + 16, rbp at CFA - 16`. */
  #byFramePointer(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r3, walk.bp);
    asm.add(r3, 16);
    asm.store(walk.cfa, r3);
    asm.store(walk.rule, KIND.framePointer | (RBP.atCfa << 8) | (-2 << 16));
  }

  /** What was interrupted by a signal goes on at its instruction, not behind a call. */
  #leaveSignal(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r1, walk.sp);
    asm.store(walk.cfa, r1);
    for (const [field, at] of [
      ['ip', SIGNAL_FRAME.rip],
      ['bp', SIGNAL_FRAME.rbp],
      ['sp', SIGNAL_FRAME.rsp],
    ] as const) {
      asm.load(r1, walk.cfa);
      asm.add(r1, at);
      this.#readWord(walk[field]);
    }
    asm.store(walk.back, 0);
    this.#loop.continue();
  }

  /** From `cfa` and `rule` the registers of the caller. */
  #leaveFunction(): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r1, walk.cfa);
    asm.load(r2, walk.sp);
    // A caller's frame is above: else it would go round for ever.
    asm.if(r1, '<=', r2, () => this.#leave(END_LOST));
    asm.subtract(r1, 8);
    this.#readWord(walk.ip);
    asm.store(walk.back, 1);
    asm.load(r2, walk.rule);
    asm.move(r3, r2);
    asm.shiftRight(r3, 8);
    asm.and(r3, 0xff);
    // The high half has a sign.
    asm.shiftLeft(r2, 32);
    asm.shiftRightSigned(r2, 48);
    asm.shiftLeft(r2, 3);
    asm.if(r3, '!=', RBP.same, () => {
      asm.if(
        r3,
        '==',
        RBP.lost,
        () => asm.store(walk.bp, 0),
        () => {
          asm.load(r1, walk.cfa);
          asm.if(r3, '==', RBP.atRbp, () => asm.load(r1, walk.bp));
          asm.add(r1, r2);
          this.#readWord(walk.bp);
        },
      );
    });
    asm.load(r1, walk.cfa);
    asm.store(walk.sp, r1);
  }

  /** The word of the stack at r1. Loses r0 to r5. */
  #readWord(to: MemoryOperand): void {
    const asm = this.#asm;
    const walk = this.#walk;
    asm.load(r2, walk.blockAt);
    asm.move(r3, r1);
    asm.subtract(r3, r2);
    asm.if(r3, '>', BLOCK_BYTES - 8, () => {
      asm.store(walk.address, r1);
      asm.move(r3, r1);
      asm.and(r3, -BLOCK_BYTES);
      asm.store(walk.blockAt, r3);
      asm.call('probe_read_user', walk.block, BLOCK_BYTES, r3);
      asm.if(r0, '!=', 0, () => this.#leave(END_LOST));
      asm.load(r3, walk.address);
    });
    // What is not at a multiple of 8 is no stack of calls.
    asm.and(r3, BLOCK_BYTES - 8);
    asm.add(r3, r7);
    asm.load(r4, u64(r3, walk.block.offsetBytes));
    asm.store(to, r4);
  }
}

/**
 * `base` goes on by 2^shift, if `below` is not negative and `place` not above `limit`. Without a jump: the
 * verifier has one state. Loses `below` and `place`.
 */
function addStep(
  asm: BpfAssembler,
  of: { base: Register; below: Register; place: Register; limit: Register; shift: number },
): void {
  const { base, below, place, limit, shift } = of;
  asm.shiftRight(below, 63);
  asm.xor(below, 1);
  asm.subtract(place, limit);
  asm.subtract(place, 1);
  asm.shiftRight(place, 63);
  asm.and(place, below);
  if (shift > 0) asm.shiftLeft(place, shift);
  asm.add(base, place);
}

/** r1 is not between r2 and r3. Loses r0 and r5. */
function ifOutside(asm: BpfAssembler, then: () => void, otherwise?: () => void): void {
  asm.move(r0, r1);
  asm.subtract(r0, r2);
  asm.move(r5, r3);
  asm.subtract(r5, r2);
  asm.if(r0, '>=', r5, then, otherwise);
}
