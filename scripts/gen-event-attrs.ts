/**
 * Turns the texts of `fixtures/events` (what perf gave the kernel, and what was worked out by hand) into the
 * bytes of each attr: `fixtures/events/attrs.txt`. It knows the layout of include/uapi/linux/perf_event.h
 * itself, and nothing of the project, so that a test can hold the project against it.
 */
import { readFileSync } from 'node:fs';

const folder = new URL('../fixtures/events/', import.meta.url);
/** Byte offset and width. */
const FIELDS: Record<string, [number, number]> = {
  type: [0, 4],
  config: [8, 8],
  sample_period: [16, 8],
  bp_type: [52, 4],
  config1: [56, 8],
  bp_addr: [56, 8],
  config2: [64, 8],
  bp_len: [64, 8],
  config3: [128, 8],
};
const FLAGS_OFFSET = 40;
/** First bit of the word at 40. */
const FLAGS: Record<string, number> = {
  pinned: 2,
  exclusive: 3,
  exclude_user: 4,
  exclude_kernel: 5,
  exclude_hv: 6,
  exclude_idle: 7,
  freq: 10,
  precise_ip: 15,
  exclude_host: 19,
  exclude_guest: 20,
};
/** Facts of the fixtures that are not in an attr. */
const BESIDE = ['leader', 'unit'];

function bytesOf(line: string): string {
  const bytes = Buffer.alloc(144);
  let flags = 0n;
  // The name ends at the first bar behind a blank.
  for (const part of line.split(' | ').slice(1)) {
    const [name = '', value = ''] = part.split('=');
    if (BESIDE.includes(name)) continue;
    const field = FIELDS[name];
    if (field !== undefined) {
      const [offset, width] = field;
      if (width === 4) bytes.writeUInt32LE(Number(value), offset);
      else bytes.writeBigUInt64LE(BigInt(value), offset);
    } else if (FLAGS[name] !== undefined) flags |= BigInt(value) << BigInt(FLAGS[name]);
    else throw new Error(`unknown field ${name}`);
  }
  bytes.writeBigUInt64LE(flags, FLAGS_OFFSET);
  return bytes.toString('hex').replace(/(?:00)+$/, '');
}

const sections: [machine: string, oracle: string, file: string][] = [
  ['.', 'perf', 'perf-6.1.txt'],
  ['.', 'hand', 'by-hand.txt'],
  ['hybrid', 'perf', 'hybrid/perf-6.1.txt'],
  ['hybrid', 'hand', 'hybrid/by-hand.txt'],
];
for (const [machine, oracle, file] of sections) {
  console.log(`machine=${machine} oracle=${oracle}`);
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n').slice(0, -1);
  lines.forEach((line, index) => {
    if (line.startsWith('  ')) {
      if (!line.startsWith('  error:')) console.log(`    ${bytesOf(line) || '00'}`);
      return;
    }
    if (lines[index + 1]?.startsWith('  error:') !== true) console.log(`  ${line}`);
  });
}
