import { assertOnTime, onTime } from './on-time.ts';

/** The job takes at most so much CPU time, for what would else take many times as much. */
export async function assertQuick(limitMs: number, job: () => unknown): Promise<void> {
  await onTime(async () => {
    const before = process.cpuUsage();
    await job();
    const { user, system } = process.cpuUsage(before);
    const timeMs = (user + system) / 1000;
    assertOnTime(timeMs <= limitMs, `${timeMs.toFixed(0)} ms of CPU time, at most ${limitMs}`);
  });
}
