import { type BpfAssembler, type MemoryOperand, r2, u64 } from '../../../kernel/bpf/index.ts';
import type { ProgramContext } from '../format.ts';

const ADDRESS_BYTES = 8;

/**
 * Where an overflow was, into 8 bytes of memory: the interrupted address; of a tracepoint, which interrupts
 * nothing, its own place in the kernel, as in the kernel's records. Loses r0 to r5.
 */
export function storePlace(asm: BpfAssembler, { programType }: ProgramContext, to: MemoryOperand): void {
  if (programType === 'tracepoint') {
    // One frame of the kernel's stack, which begins there. Where there is none, the helper writes 0.
    asm.call('get_stack', asm.context, u64(to.base, to.offsetBytes), ADDRESS_BYTES, 0);
    return;
  }
  asm.loadContext(r2, 'ip');
  asm.store(to, r2);
}
