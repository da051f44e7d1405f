/** How much of a recording is right, by what is known of its program. */
import { parseScriptName } from '@counterpoint/core/jit';
import { MODE_KERNEL, NONE, type Profile } from '@counterpoint/core/profile';
import type { KnownInterval, KnownPlace } from './known-truth.ts';

export interface KnownShare {
  samples: number;
  rightFunction: number;
  /** And the right line in it. */
  rightLine: number;
  /** What the others have, the most frequent first. */
  others: string[];
}

interface Innermost {
  name: string;
  file: string;
  line: number;
}

/**
 * By part of the program: of all samples that its threads had in this time, by the
 * innermost function of JavaScript.
 */
export function knownShares(
  profile: Profile,
  intervals: readonly KnownInterval[],
  places: ReadonlyMap<string, KnownPlace>,
): Map<string, KnownShare> {
  const { samples } = profile;
  const innermost = Array.from({ length: samples.length }, (_, row) =>
    innermostFunction(profile, samples.stack.at(row)),
  );
  const threads = new Set<number>();
  for (const [row, found] of innermost.entries()) if (found !== null) threads.add(samples.thread.at(row));
  const shares = new Map<string, KnownShare>();
  const others = new Map<string, Map<string, number>>();
  for (const [row, found] of innermost.entries()) {
    if (!threads.has(samples.thread.at(row))) continue;
    const timeNs = profile.baseTimeNs! + BigInt(Math.round(samples.timeNs.at(row)));
    const kind = kindAt(intervals, timeNs);
    const place = kind === null ? undefined : places.get(kind);
    if (kind === null || place === undefined) continue;
    const share = shares.get(kind) ?? { samples: 0, rightFunction: 0, rightLine: 0, others: [] };
    shares.set(kind, share);
    share.samples++;
    const isFunction =
      found !== null &&
      place.functionNames.includes(found.name) &&
      found.file.startsWith(place.fileStart ?? '');
    if (isFunction) share.rightFunction++;
    if (isFunction && (place.line === 0 || found.line === place.line)) share.rightLine++;
    else
      count(others, kind, found === null ? 'no function' : `${found.name} ${found.file} line ${found.line}`);
  }
  for (const [kind, share] of shares)
    share.others = [...(others.get(kind) ?? [])]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 4)
      .map(([what, times]) => `${times} ${what}`);
  return shares;
}

function count(all: Map<string, Map<string, number>>, kind: string, what: string): void {
  const own = all.get(kind) ?? new Map<string, number>();
  all.set(kind, own.set(what, (own.get(what) ?? 0) + 1));
}

/** They are in order of time, and none reaches into another. */
function kindAt(intervals: readonly KnownInterval[], timeNs: bigint): string | null {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (intervals[middle]!.startNs <= timeNs) low = middle + 1;
    else high = middle;
  }
  const found = intervals[low - 1];
  return found !== undefined && timeNs <= found.endNs ? found.kind : null;
}

function innermostFunction(
  { frames, sources, stacks, strings, symbols }: Profile,
  innermost: number,
): Innermost | null {
  for (let stack = innermost; stack !== NONE; stack = stacks.prefix.at(stack)) {
    const frame = stacks.frame.at(stack);
    const symbol = frames.symbol.at(frame);
    if (symbol === NONE || frames.mode.at(frame) === MODE_KERNEL) continue;
    const script = parseScriptName(strings.get(symbols.name.at(symbol)));
    if (script === null) continue;
    const source = frames.source.at(frame);
    return { name: script.name, file: script.file, line: source === NONE ? 0 : sources.line.at(source) };
  }
  return null;
}
