import type { Annotation } from './annotation.ts';
import { NoCode } from './code-of-binary.ts';
import type { Hits } from './function-samples.ts';
import type { SourceText } from './source-text.ts';
import { hexOf } from './text.ts';

/** A function of the answer of `annotate --json`. */
export function annotationJson(annotation: Annotation, source: SourceText | null): Record<string, unknown> {
  const { samples, binary, eventName, unit, all, percentType, isExact, listing } = annotation;
  const head = {
    symbol: samples.symbol,
    recordedName: samples.recordedName,
    dso: binary.name,
    path: binary.path,
    buildId: binary.buildId,
    event: eventName,
    unit,
    isExact,
    samples: samples.samples,
    period: decimal(samples.period),
    percent: all.period === 0 ? 0 : (100 * samples.period) / all.period,
    percentType,
  };
  if (listing instanceof NoCode) {
    const offsets = [...samples.byOffset].sort(([a], [b]) => a - b);
    const { detail, remedy } = listing;
    return {
      ...head,
      missing: { detail, remedy },
      offsets: offsets.map(([offset, hits]) => ({ offset, ...hitsJson(hits) })),
    };
  }
  return {
    ...head,
    lines: listing.lines.map(({ file, line, percent, ...hits }) => ({
      file,
      line,
      text: source?.line(file, line) ?? null,
      percent,
      ...hitsJson(hits),
    })),
    instructions: listing.instructions.map((one) => ({
      address: hexText(one.address),
      offset: one.offset,
      bytes: hexOf(one.bytes),
      text: one.text,
      percent: one.percent,
      ...hitsJson(one),
      jumpsTo: one.jumpsTo === null ? null : hexText(listing.instructions[one.jumpsTo]!.address),
      frames: one.frames.map(({ functionName, file, line, column }) => ({
        function: functionName,
        file,
        line,
        column,
      })),
    })),
    outside: hitsJson(listing.outside),
  };
}

function hitsJson({ samples, period }: Hits): { samples: number; period: string } {
  return { samples, period: decimal(period) };
}

function decimal(value: number): string {
  return BigInt(Math.round(value)).toString();
}

function hexText(value: bigint): string {
  return `0x${value.toString(16)}`;
}
