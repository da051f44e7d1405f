/** `pt profile --coarse`: the first picture of a trace, by function where symbols are known. */
import { type ByteSource, printable, printableJson, toHex } from '@counterpoint/core/base';
import { type CoarseProfile, type CodeFunctions, coarseProfile } from '@counterpoint/trace/intel-pt';
import { formatBytes, formatCount } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import { isRecording, MAGIC_BYTES, whyNoTrace } from './file.ts';

const DEFAULT_TOP = 10;

/** False where there was nothing to show. */
export async function printCoarse(
  source: ByteSource,
  functions: CodeFunctions,
  { json, top }: { json: boolean; top: number | undefined },
  out: Output,
  err: Output,
): Promise<boolean> {
  const beginning = await source.read(0, MAGIC_BYTES);
  if (isRecording(beginning)) {
    err.line(`counterpoint: ${whyNoTrace(beginning)}.`);
    return false;
  }
  const found = await coarseProfile(source);
  const { readBytes, totalBytes } = found;
  const total = sumOf(found.count);
  const samples = sumOf(found.samples);
  if (json) {
    const targets = Array.from(found.count.subarray(0, top), (count, row) => ({
      address: addressOf(found, row),
      name: functions.nameOf(found.lo[row]!, found.hi[row]!),
      samples: String(found.samples[row]),
      count: String(count),
    }));
    const head = {
      type: 'pt-coarse',
      version: 1,
      readBytes,
      totalBytes,
      samples: String(samples),
      count: String(total),
    };
    out.line(printableJson({ ...head, targets }));
  }
  if (total + samples === 0) {
    const isAll = readBytes === totalBytes;
    const why = isAll
      ? whyNoTrace(beginning)
      : 'no synchronization point (PSB) in the parts that were read: leave out --coarse to read the whole trace';
    err.line(`counterpoint: ${why}.`);
    return false;
  }
  if (json) return true;
  out.line(
    `${formatCount(samples)} samples, one at each synchronization point, and ${formatCount(total)} targets of branches that need a ` +
      `packet, in ${formatBytes(readBytes)} of ${formatBytes(totalBytes)}`,
  );
  out.line('');
  out.line('   share    samples      targets  where');
  for (const { name, samples: here, count } of byFunction(found, functions).slice(0, top ?? DEFAULT_TOP)) {
    const share = samples === 0 ? '' : `${((100 * here) / samples).toFixed(2)}%`;
    const counts = `${formatCount(here).padStart(9)}  ${formatCount(count).padStart(11)}`;
    out.line(`${share.padStart(8)}  ${counts}  ${printable(name)}`);
  }
  return true;
}

function sumOf(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Place {
  readonly name: string;
  samples: number;
  count: number;
}

/** What happened in one function together: targets are calls of it, and returns into it. */
function byFunction(found: CoarseProfile, functions: CodeFunctions): Place[] {
  const places = new Map<string, Place>();
  for (let row = 0; row < found.count.length; row++) {
    const place = functions.placeOf(found.lo[row]!, found.hi[row]!);
    const name =
      place === null || place.symbol < 0 ? addressOf(found, row) : place.binary.symbols!.name(place.symbol);
    let known = places.get(name);
    if (known === undefined) {
      known = { name, samples: 0, count: 0 };
      places.set(name, known);
    }
    known.samples += found.samples[row]!;
    known.count += found.count[row]!;
  }
  return [...places.values()].sort((a, b) => b.samples - a.samples || b.count - a.count);
}

function addressOf({ lo, hi }: CoarseProfile, row: number): string {
  return `0x${toHex(lo[row]! >>> 0, hi[row]! >>> 0)}`;
}
