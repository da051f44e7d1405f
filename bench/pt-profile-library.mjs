// Side of bench/pt-profile.ts: the exact profile as a program asks the library for it; prints the seconds of
// each of some rounds, the first with nothing compiled yet. Arguments: ROUNDS TRACE FILE:OFFSET-END:VADDR...
import { readFileSync } from 'node:fs';
import { CodeImage, parseRawCode } from '@counterpoint/trace/image';
import { profileTrace } from '@counterpoint/trace/intel-pt';

const [rounds, path, ...raw] = process.argv.slice(2);
const bytes = new Uint8Array(readFileSync(path));
const pieces = raw.map((text) => {
  const { path: file, offset, end, address } = parseRawCode(text);
  return {
    name: file,
    address,
    bytes: new Uint8Array(readFileSync(file)).subarray(offset, end ?? undefined),
  };
});
for (let round = 0; round < Number(rounds); round++) {
  const image = new CodeImage();
  for (const piece of pieces) image.addSection(piece);
  const begin = performance.now();
  const { profile } = profileTrace(bytes, image);
  const { instructions } = profile.totals();
  console.log(((performance.now() - begin) / 1000).toFixed(6), instructions);
}
