/**
 * Counts a command, and lets the C program count it: `step-oracle-run.ts COUNTER RESULT
 * PROGRAM [WORDS...]`; prints both.
 */
import { openSync, readFileSync } from 'node:fs';
import { launchHeld } from '../linux/kernel/target/index.ts';
import { countSoft } from '../linux/stepping/softpmu/count-soft.ts';

const [counter, resultPath, ...command] = process.argv.slice(2);
// Held by the same shell, so both have the same variables in the same order: programs walk through them.
const sink = openSync('/dev/null', 'r+');
const peer = launchHeld([counter!, resultPath!, ...command], { stdio: [sink, sink, 'inherit'] });
peer.release();
const peerExit = await peer.exited;
const { counts, exit } = await countSoft({ command, stdio: [sink, sink, 'inherit'] });
const [steps, instructions] = readFileSync(resultPath!, 'utf8').trim().split(' ').map(Number);
const ours = { steps: counts.iterations, instructions: counts.instructions, code: exit?.code };
process.stdout.write(JSON.stringify({ ours, peer: { steps, instructions, code: peerExit.code } }));
