/**
 * The callers of what was interrupted in user space, found by the handler itself along the frame pointers,
 * as the kernel finds them. The kernel reads each frame in two steps of its own, 80 ns together, and ends
 * with a page fault at address 0; here a block of the stack is read at once, and frames that lie in it
 * cost a few instructions each:
 *
 *   frame pointer ─> [ the caller's frame │ return address ] ... [ ─> │ return address ] ... [ 0 │ return address ]
 *                    └──────────────────── a block ────────────────────┘ └── the next ──
 *
 * A block is all of one page, since the next may not be there, and a read that fails takes a microsecond. So
 * a chain has one that fails at most: its last.
 *
 * Source: `perf_callchain_user` in arch/x86/events/core.c. Unlike it, this knows nothing of return addresses
 * that a uretprobe has put its own in place of (the kernel since 6.11), and of code of 32 bits.
 */
import { X64_USER_CODE_SEGMENT } from '@counterpoint/core/abi';
import type { PerfEventAttr } from '@counterpoint/core/records';
import {
  type BpfAssembler,
  bpfStruct,
  type MemoryOperand,
  r0,
  r1,
  r2,
  r3,
  r4,
  r5,
  r7,
  r8,
  r9,
  u64,
} from '../../../kernel/bpf/index.ts';
import { mappedArray } from '../mapped-array.ts';
import { halfCount } from './halves.ts';
import { MULTIPLIER, mixWord } from './mix-word.ts';

const Frame = bpfStruct({ caller: 'u64', returnAddress: 'u64' });
/** A power of two, below a page: a block is at a multiple of it, and so in one page. */
const BLOCK_BYTES = 1024;
const LAST_FRAME_AT = BLOCK_BYTES - Frame.sizeBytes;
/** Nothing is mapped below (vm.mmap_min_addr), and asking would be a page fault. */
const LEAST_ADDRESS = 4096;

/**
 * Of a million instructions that the verifier follows, so many frames take about 400,000 (1,024:
 * 760,000, and elsewhere more).
 */
const MOST_FRAMES = 512;

/** Can the handler find the chains of such an event, so that the kernel need not? */
export function canWalk({ flags }: PerfEventAttr, frames: number): boolean {
  return process.arch === 'x64' && frames <= MOST_FRAMES && flags.excludeCallchainUser === 0;
}

/** What runs has frames as this file knows them: not so in the kernel, and in code of 32 bits. Loses r1. */
export function ifWalkable(asm: BpfAssembler, then: () => void, otherwise: () => void): void {
  asm.loadContext(r1, 'cs');
  asm.if(r1, '==', X64_USER_CODE_SEGMENT, then, otherwise);
}

interface Walk {
  /** The number of the half that counts: each has its block. */
  readonly half: MemoryOperand;
  /** Holds an address; return addresses are written this many bytes behind it. */
  readonly to: MemoryOperand;
  readonly offsetBytes: number;
  readonly mostCallers: number;
}

/** r1: how many callers there are; r2: a hash of them. Loses r0 to r5 and r9. */
export function walkUserFrames(asm: BpfAssembler, { half, to, offsetBytes, mostCallers }: Walk): void {
  const frame = asm.stack('frame', 8);
  const blockAt = asm.stack('where the block was', 8);
  const offset = asm.stack('of the frame in its block', 8);
  const [kept7, kept8] = [asm.stack('r7 during the walk', 8), asm.stack('r8 during the walk', 8)];
  asm.mapLookup(mappedArray('user_stack', BLOCK_BYTES, halfCount()), half);
  asm.ifNull(r0, () => asm.dropRecord());
  asm.store(kept7, r7);
  asm.store(kept8, r8);
  const [block, hash, callers] = [r7, r8, r9];
  asm.move(block, r0);
  // Not 0, which return addresses of 0 would leave as it is.
  asm.move(hash, MULTIPLIER);
  asm.loadContext(r1, 'framePointer');
  asm.store(frame, r1);
  // No frame is in a block at 0.
  asm.store(blockAt, 0);
  asm.repeat(callers, mostCallers, (loop) => {
    asm.load(r1, frame);
    asm.if(r1, '<', LEAST_ADDRESS, () => loop.break());
    asm.load(r2, blockAt);
    asm.move(r4, r1);
    asm.subtract(r4, r2);
    asm.if(r4, '>', LAST_FRAME_AT, () => {
      asm.move(r4, r1);
      asm.and(r4, BLOCK_BYTES - 1);
      asm.store(offset, r4);
      asm.move(r2, r1);
      asm.subtract(r2, r4);
      const readBlock = () => {
        asm.store(blockAt, r2);
        asm.call('probe_read_user', u64(block), BLOCK_BYTES, r2);
      };
      // It lies in two blocks: read by itself, and no other is there.
      const readFrame = () => {
        asm.store(blockAt, 0);
        asm.store(offset, 0);
        asm.call('probe_read_user', u64(block), Frame.sizeBytes, r1);
      };
      asm.if(r4, '<=', LAST_FRAME_AT, readBlock, readFrame);
      asm.if(r0, '!=', 0, () => loop.break());
      asm.load(r4, offset);
    });
    asm.add(r4, block);
    const { caller, returnAddress } = Frame.at(r4);
    asm.load(r1, caller);
    asm.store(frame, r1);
    asm.load(r2, returnAddress);
    asm.load(r5, to);
    asm.move(r3, callers);
    asm.shiftLeft(r3, 3);
    asm.add(r5, r3);
    asm.store(u64(r5, offsetBytes), r2);
    mixWord(asm, hash, r2, r3);
  });
  asm.move(r1, callers);
  asm.move(r2, hash);
  asm.load(r7, kept7);
  asm.load(r8, kept8);
}
