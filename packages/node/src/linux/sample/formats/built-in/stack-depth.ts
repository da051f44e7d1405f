import { CounterpointError } from '@counterpoint/core/base';
import { type KernelFiles, kernelSetting, realFiles } from '../../../kernel/probe/index.ts';

/**
 * Frames that the format `unwind` can be asked for: with more, its scratch memory is above what the kernel
 * allows for a CPU (32 KiB).
 */
export const UNWOUND_FRAMES = { least: 3, most: 420 } as const;

/**
 * Throws if the kernel gives no call chains of this many frames: it refuses the
 * event, or the map of its stacks.
 */
export function requireStackDepth(
  format: string,
  { depth, frames = depth }: { readonly depth: number; readonly frames?: number },
  files: Pick<KernelFiles, 'read'> = realFiles,
): void {
  const most = kernelSetting('perf_event_max_stack', files);
  if (most === null || frames <= most) return;
  throw new CounterpointError(
    'ERR_FORMAT_STACK_DEPTH',
    `the format ${format} cannot have depth=${depth}: the kernel gives call chains of ${most} frames (kernel.perf_event_max_stack)`,
    `Use depth=${most + depth - frames}; or, while no event with call chains is open: sysctl kernel.perf_event_max_stack=${frames}`,
  );
}
