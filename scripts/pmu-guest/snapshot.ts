import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Machine } from './machine.ts';
import { memoryFile, stateFile } from './paths.ts';
import type { SnapshotName } from './recipe.ts';

const BOOT_SECONDS = 120;

/**
 * Memory stays in its file, which the machine maps; only the devices' state goes through the migration
 * stream. A restored machine maps the same file privately, so that it starts at once and leaves it as it is.
 */
export const LEAVE_MEMORY_IN_ITS_FILE = {
  capabilities: [{ capability: 'x-ignore-shared', state: true }],
};

/** Boot once, and keep what the machine is when the agent waits for its request. */
export async function takeSnapshot(folder: string, snapshot: SnapshotName, empty: string): Promise<void> {
  mkdirSync(dirname(join(folder, memoryFile(snapshot))), { recursive: true });
  const options = { folder, snapshot, mode: 'boot', hostFolder: empty, toolsFolder: empty } as const;
  await using machine = await Machine.start(options);
  const line = await machine.readLine(BOOT_SECONDS);
  if (line !== 'ready')
    throw new Error(`the guest said "${line}" instead of "ready":\n${machine.lastWords()}`);
  const { monitor } = machine;
  await monitor.execute('migrate-set-capabilities', LEAVE_MEMORY_IN_ITS_FILE);
  await monitor.execute('migrate', { uri: `exec:cat >${stateFile(snapshot)}` });
  for (;;) {
    const { status } = (await monitor.execute('query-migrate')) as { status?: string };
    if (status === 'completed') break;
    if (status === 'failed' || status === 'cancelled') throw new Error(`the snapshot ${snapshot} ${status}`);
    await sleep(20);
  }
}
