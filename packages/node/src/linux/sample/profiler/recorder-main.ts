/** The recorder's process. It does what its parent says, and ends with it. */
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CounterpointError } from '@counterpoint/core/base';
import { record } from '../record/index.ts';
import { type Asked, type Order, recordOptionsOf, type Told } from './messages.ts';

const stop = new AbortController();
/** It ends when its parent has ended, or says so: Ctrl-C is for the program that is being profiled. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

const hasLeft = new Promise<void>((resolve) => process.once('disconnect', resolve));
process.once('disconnect', () => stop.abort());
process.on('message', (asked: Asked) => {
  if (asked.type === 'stop') stop.abort();
  else void run(asked.order);
});

function tell(told: Told): void {
  // A parent that is gone hears nothing: the end of the channel tells of it.
  if (process.connected) process.send!(told, () => {});
}

async function run(order: Order): Promise<void> {
  try {
    const { notes, error } = await record({
      ...recordOptionsOf(order),
      signal: stop.signal,
      onStart: () => tell({ type: 'started' }),
    });
    if (error !== null) throw error;
    tell({ type: 'done', notes });
  } catch (error) {
    const { message } = error as Error;
    const [code, remedy] = error instanceof CounterpointError ? [error.code, error.remedy] : [null, ''];
    tell({ type: 'failed', message, code, remedy });
  }
  // The parent has read the recording, or is gone.
  await hasLeft;
  await rm(dirname(order.output), { recursive: true, force: true });
}
