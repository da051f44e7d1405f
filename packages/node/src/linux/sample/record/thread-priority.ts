import { CounterpointError } from '@counterpoint/core/base';
import { SysError } from '../../kernel/sys/index.ts';
import type { ThreadReader } from '../reader/index.ts';

/**
 * False: there can be no such thread. Throws `ERR_REALTIME` where this user may not have
 * the priority that was asked for.
 */
export function startWithPriority(reader: ThreadReader, priority: number | undefined): boolean {
  try {
    return reader.start();
  } catch (error) {
    if (priority === undefined || !(error instanceof SysError) || error.code !== 'EPERM') throw error;
    throw new CounterpointError(
      'ERR_REALTIME',
      `this user may not use the real-time priority ${priority}`,
      'Give CAP_SYS_NICE, raise the limit (ulimit -r), or record without -r.',
    );
  }
}
