import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Where the kernel does not tell where a process waits. */
const MOST_MS = 5000;

/** Until a `sleep` that was started has gone to sleep: on a busy machine that takes long. */
export async function untilAsleep(pid: number): Promise<void> {
  const giveUpAt = performance.now() + MOST_MS;
  const isAsleep = () => readFileSync(`/proc/${pid}/wchan`, 'utf8').includes('nanosleep');
  do await delay(20);
  while (!isAsleep() && performance.now() < giveUpAt); // Wall time: how long it may take.
}
