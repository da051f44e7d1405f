import { type BoxLayout, layOutBoxes, totals } from '../boxes.ts';
import type { FlameData, FlameFacts } from '../flame-data.ts';
import { boxDetail } from '../places.ts';

/**
 * The file's JSON as columns that are quick to walk. Boxes are in pre-order: a box's
 * callees are the rows up to `end`.
 */
export interface Model extends BoxLayout {
  facts: FlameFacts;
  count: number;
  label: Int32Array;
  depth: Int32Array;
  self: Float64Array;
  hidden: Float64Array;
  /** Samples in the whole box. */
  samples: Float64Array;
  names: string[];
  places: string[];
  /** What follows the name in a box. */
  details: string[];
  binaries: string[];
  families: number[];
  tiers: string[];
  /** Of two recordings: how each box changed. */
  shade: Int32Array | null;
}

export function readModel(data: FlameData): Model {
  const { facts, boxes, labels } = data;
  const layout = layOutBoxes(boxes);
  const each = facts.weightPerSample;
  const samples =
    each === null
      ? totals(boxes.depth, boxes.selfSamples ?? [], boxes.hiddenSamples ?? [])
      : layout.total.map((weight) => weight / each);
  return {
    ...layout,
    facts,
    count: boxes.depth.length,
    label: Int32Array.from(boxes.label),
    depth: Int32Array.from(boxes.depth),
    self: Float64Array.from(boxes.selfWeight),
    hidden: Float64Array.from(boxes.hiddenWeight),
    samples,
    names: labels.name,
    places: labels.place,
    details: labels.place.map((place, label) => boxDetail(place, labels.tier[label]!)),
    binaries: labels.binary.map((binary) => data.binaries[binary] ?? ''),
    families: labels.family,
    tiers: labels.tier,
    shade: boxes.shade === undefined ? null : Int32Array.from(boxes.shade),
  };
}

/** From the outermost box down to `row`, itself included. */
export function pathTo(model: Model, row: number): number[] {
  const path: number[] = [];
  for (let at = row; at >= 0; at = model.parent[at]!) path.push(at);
  return path.reverse();
}
