/**
 * Time, size and memory of each export of a million samples with 200,000 distinct stacks. Run by hand:
 *
 *   npx tsx --conditions=counterpoint-source packages/core/src/test/measure-exports.ts [FORMAT…]
 *
 * Memory is the peak of the whole process, so it is exact for one format at a time.
 */
import { gzipSync } from 'node:zlib';
import { EXPORTS } from '../answers/export/index.ts';
import { bigProfile } from './example-profile.ts';

const wanted = process.argv.slice(2);
const profile = bigProfile(1_000_000, 200_000);
const before = process.memoryUsage().rss;
console.log(`profile: ${profile.stacks.length} stack rows, ${(before / 1e6).toFixed(0)} MB resident`);
for (const { name, write } of EXPORTS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const started = performance.now();
  let bytes = 0;
  for await (const chunk of write(profile, { compress: async (whole) => gzipSync(whole) }))
    bytes += chunk.length;
  const seconds = (performance.now() - started) / 1000;
  const peak = process.resourceUsage().maxRSS / 1024;
  console.log(
    `${name.padEnd(12)}${seconds.toFixed(2).padStart(6)} s${(bytes / 1e6).toFixed(1).padStart(8)} MB${peak.toFixed(0).padStart(6)} MB peak`,
  );
}
