// Side of bench/pt-packets.ts that is measured: the packets of a trace, a number of
// times; prints the seconds of each.
import { readFileSync } from 'node:fs';
import { PacketCursor } from '@counterpoint/trace/intel-pt';

function countPackets(bytes) {
  const cursor = new PacketCursor(bytes);
  cursor.resynchronize();
  const { packet } = cursor;
  let packets = 0;
  let kinds = 0;
  while (cursor.next() > 0) {
    packets++;
    kinds += packet.kind;
  }
  return { packets, kinds };
}

const [, , path, rounds] = process.argv;
const bytes = new Uint8Array(readFileSync(path));
for (let round = Number(rounds); round > 0; round--) {
  const begin = performance.now();
  const { packets, kinds } = countPackets(bytes);
  console.log(((performance.now() - begin) / 1000).toFixed(6), packets, kinds);
}
