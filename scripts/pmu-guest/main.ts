/**
 * The project's own arm64 machine with hardware counters, under QEMU. See README.md.
 *
 *   main.ts build                          build it where there is none
 *   main.ts test [--node 24] [FILTER]...   run the *.pmu.ts tests in it
 *   main.ts run [-s SNAPSHOT] -- COMMAND   run a command of bash in it, the current folder as /host
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureGuest } from './build.ts';
import { bundleCommandLine } from './bundle.ts';
import { GuestUnavailable } from './commands.ts';
import { SNAPSHOTS, type SnapshotName } from './recipe.ts';
import { runInGuest } from './run.ts';
import { makeScratch } from './scratch.ts';
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
  using scratch = makeScratch('tools');
  // The scratch folder is for its owner only, and the guest has other users, too.
  const toolsFolder = join(scratch.path, 'tools');
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
}

async function main(): Promise<number> {
  if (verb === 'test') return runTests(words, `node${values.node}`);
  if (verb === 'run') return runByHand();
  if (verb !== 'build') throw new Error(USAGE);
  console.log(await ensureGuest());
  return 0;
}

try {
  process.exitCode = await main();
} catch (cause) {
  if (cause instanceof GuestUnavailable && verb === 'test') {
    console.log(
      `SKIPPED: the tests with hardware counters need a QEMU guest, which cannot be had here: ${cause.message}`,
    );
    process.exit(0);
  }
  console.error(cause instanceof Error ? cause.message : cause);
  process.exit(1);
}
