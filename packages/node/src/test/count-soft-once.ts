/**
 * Counts one command in one way: `count-soft-once.ts WAY FILE COMMAND...`; what it
 * counted goes to FILE, as JSON.
 */
import { writeFileSync } from 'node:fs';
import { countSoft } from '../linux/stepping/softpmu/index.ts';

const [way, file, ...command] = process.argv.slice(2);
const { counts, stepped, exit } = await countSoft({ command, way: way === 'fast' ? 'fast' : 'step' });
writeFileSync(file!, JSON.stringify({ counts, stepped, exit }));
