import assert from 'node:assert/strict';

const ATTEMPTS = 4;

/**
 * The job takes at most so much CPU time, for what would else take many times as much. Others on the machine,
 * and the host of a virtual one, make work longer, never shorter: so one attempt of four is enough.
 */
export async function assertQuick(limitMs: number, job: () => unknown): Promise<void> {
  const times: number[] = [];
  while (times.length < ATTEMPTS && !(times.at(-1)! <= limitMs)) {
    const before = process.cpuUsage();
    await job();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  assert.ok(times.at(-1)! <= limitMs, `${times.map((time) => time.toFixed(0)).join(', ')} ms`);
}
