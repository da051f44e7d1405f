import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Random } from './random.ts';

/** A case that takes longer is a hang, for inputs of some kilobytes. */
const HANG_SECONDS = 20;

/** Done however slow the machine is: a busy one may get to only a few in the time. */
const LEAST_CASES = 12;

const WATCHDOG = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const state = new Int32Array(workerData.state);
let last = -1;
setInterval(() => {
  const now = Atomics.load(state, 0);
  if (now === last) {
    writeSync(2, 'HANG: ' + workerData.name + ', case seed ' + Atomics.load(state, 1) + '\\n');
    process.kill(process.pid, 'SIGKILL');
  }
  last = now;
}, workerData.milliseconds);
`;

/**
 * Run cases for `FUZZ_SECONDS` (default: 1.5 s, always the same cases; else other ones each time). A case is
 * made from its own random numbers; one that throws names its seed, and `FUZZ_SEED` runs just that one again.
 * A watchdog ends the process where a case does not end. Returns the number of cases, null for a single one.
 */
export async function fuzz(
  name: string,
  runCase: (random: Random) => Promise<void> | void,
  inputOfFailure: () => Uint8Array,
): Promise<number | null> {
  const only = process.env['FUZZ_SEED'];
  if (only !== undefined) {
    await runCase(new Random(Number(only)));
    return null;
  }
  const isLong = process.env['FUZZ_SECONDS'] !== undefined;
  const seconds = Number(process.env['FUZZ_SECONDS'] ?? 1.5);
  let seed = isLong ? Date.now() & 0x3fff_ffff : 1;
  const state = new SharedArrayBuffer(8);
  const shared = new Int32Array(state);
  const workerData = { state, name, milliseconds: HANG_SECONDS * 1000 };
  const watchdog = new Worker(WATCHDOG, { eval: true, workerData });
  watchdog.unref();
  const end = Date.now() + seconds * 1000;
  let cases = 0;
  try {
    // Wall time: a fuzzer runs for so long.
    while (Date.now() < end || cases < LEAST_CASES) {
      seed = (seed + 0x9e37) & 0x3fff_ffff;
      Atomics.store(shared, 1, seed);
      Atomics.add(shared, 0, 1);
      try {
        await runCase(new Random(seed));
      } catch (error) {
        const path = join(tmpdir(), `counterpoint-fuzz-${seed}`);
        writeFileSync(path, inputOfFailure());
        throw new Error(`${name}: case FUZZ_SEED=${seed} failed; its input is ${path}`, { cause: error });
      }
      cases++;
    }
  } finally {
    await watchdog.terminate();
  }
  if (isLong) console.log(`${name}: ${cases} cases`);
  return cases;
}
