/** `pt profile --coarse`: the first picture of a trace, by function where symbols are known. */
import { type ByteSource, printable, printableJson, toHex } from '@counterpoint/core/base';
import { type CoarseProfile, type CodeFunctions, coarseProfile } from '@counterpoint/core/trace';
import { formatBytes, formatCount } from './human.ts';
import type { Output } from './output.ts';
import { MAGIC_BYTES, whyNoTrace } from './pt-file.ts';

const DEFAULT_TOP = 10;

/** False where there was nothing to show. */
export async function printCoarse(
  source: ByteSource,
  functions: CodeFunctions,
  { json, top }: { json: boolean; top: number | undefined },
  out: Output,
  err: Output,
): Promise<boolean> {
  const found = await coarseProfile(source);
  const { readBytes, totalBytes } = found;
  const total = found.count.reduce((sum, count) => sum + count, 0);
  if (json) {
    const targets = Array.from(found.count.subarray(0, top), (count, row) => ({
      address: addressOf(found, row),
      name: functions.nameOf(found.lo[row]!, found.hi[row]!),
      count: String(count),
    }));
    const head = { type: 'pt-coarse', version: 1, readBytes, totalBytes, count: String(total) };
    out.line(printableJson({ ...head, targets }));
  }
  if (total === 0) {
    const isAll = readBytes === totalBytes;
    const why = isAll
      ? whyNoTrace(await source.read(0, MAGIC_BYTES))
      : 'no synchronization point (PSB) in the pieces that were read: without --coarse all of the trace is';
    err.line(`counterpoint: ${why}.`);
    return false;
  }
  if (json) return true;
  out.line(
    `${formatCount(total)} targets of branches that need a packet, in ${formatBytes(readBytes)} of ${formatBytes(totalBytes)}`,
  );
  out.line('');
  out.line('   share      targets  where');
  for (const [name, count] of byFunction(found, functions).slice(0, top ?? DEFAULT_TOP))
    out.line(
      `${((100 * count) / total).toFixed(2).padStart(7)}%  ${formatCount(count).padStart(11)}  ${printable(name)}`,
    );
  return true;
}

/** Targets of one function together: calls of it, and returns into it. */
function byFunction(found: CoarseProfile, functions: CodeFunctions): [string, number][] {
  const sums = new Map<string, number>();
  for (let row = 0; row < found.count.length; row++) {
    const place = functions.placeOf(found.lo[row]!, found.hi[row]!);
    const name =
      place === null || place.symbol < 0 ? addressOf(found, row) : place.binary.symbols!.name(place.symbol);
    sums.set(name, (sums.get(name) ?? 0) + found.count[row]!);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

function addressOf({ lo, hi }: CoarseProfile, row: number): string {
  return `0x${toHex(lo[row]! >>> 0, hi[row]! >>> 0)}`;
}
