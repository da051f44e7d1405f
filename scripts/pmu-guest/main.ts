/**
 * The project's own arm64 machine with hardware counters, under QEMU. See README.md.
 *
 *   main.ts build                          build it where there is none
 *   main.ts test [--node 24] [FILTER]...   run the *.pmu.ts tests in it
 *   main.ts run [-s SNAPSHOT] -- COMMAND   run a command of bash in it, the current folder as /host
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureGuest } from './build.ts';
import { bundleCommandLine } from './bundle.ts';
import { GuestUnavailable } from './commands.ts';
import { SNAPSHOTS, type SnapshotName } from './recipe.ts';
import { runInGuest } from './run.ts';
import { runTests } from './tests.ts';

const USAGE = `Usage: main.ts build | test [--node 20|24] [FILTER]... | run [-s SNAPSHOT] [-t SECONDS] -- COMMAND
Snapshots: ${Object.keys(SNAPSHOTS).join(', ')}`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    snapshot: { type: 'string', short: 's', default: 'a57' },
    node: { type: 'string', default: '' },
    timeout: { type: 'string', short: 't', default: '100' },
  },
});
const [verb, ...words] = positionals;

async function runByHand(): Promise<number> {
  const snapshot = values.snapshot;
  if (!Object.hasOwn(SNAPSHOTS, snapshot) || words.length === 0) throw new Error(USAGE);
  const folder = await ensureGuest();
  const scratch = mkdtempSync(join(tmpdir(), 'counterpoint-tools-'));
  // mkdtemp is for its owner only, and the guest has other users, too.
  const toolsFolder = join(scratch, 'tools');
  try {
    await bundleCommandLine(toolsFolder);
    return await runInGuest(folder, {
      snapshot: snapshot as SnapshotName,
      script: words.join(' '),
      hostFolder: process.cwd(),
      toolsFolder,
      out: process.stdout,
      err: process.stderr,
      timeoutSeconds: Number(values.timeout),
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  if (verb === 'build') console.log(await ensureGuest());
  else if (verb === 'test') process.exitCode = await runTests(words, `node${values.node}`);
  else if (verb === 'run') process.exitCode = await runByHand();
  else throw new Error(USAGE);
} catch (cause) {
  if (cause instanceof GuestUnavailable && verb !== 'run') {
    console.log(
      `SKIPPED: the tests with hardware counters need a QEMU guest, which cannot be had here: ${cause.message}`,
    );
  } else {
    console.error(cause instanceof Error ? cause.message : cause);
    process.exitCode = 1;
  }
}
