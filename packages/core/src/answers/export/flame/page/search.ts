import type { Model } from './model.ts';

export interface SearchResult {
  /** 1 for each box whose label matches. */
  hit: Uint8Array;
  /** Matching boxes that are not inside another, heaviest first. */
  rows: number[];
  /** Their weight, and thus the share of all that is at or below a match. */
  weight: number;
}

/** Null for an empty query; throws a SyntaxError where a regular expression is none. */
export function search(model: Model, query: string, isRegex: boolean): SearchResult | null {
  if (query === '') return null;
  const matches = matcher(query, isRegex);
  const labelHit = model.names.map(
    (name, label) => matches(name) || matches(model.places[label]!) || matches(model.binaries[label]!),
  );
  // Row 0 is no function.
  labelHit[model.label[0]!] = false;
  const hit = new Uint8Array(model.count);
  const rows: number[] = [];
  let weight = 0;
  let covered = 0;
  for (let row = 0; row < model.count; row++) {
    if (!labelHit[model.label[row]!]) continue;
    hit[row] = 1;
    if (row < covered) continue;
    covered = model.end[row]!;
    rows.push(row);
    weight += model.total[row]!;
  }
  rows.sort((a, b) => model.total[b]! - model.total[a]!);
  return { hit, rows, weight };
}

/** Plain text matches whatever the case; so does a regular expression that has no capital letter. */
function matcher(query: string, isRegex: boolean): (text: string) => boolean {
  if (isRegex) {
    const pattern = new RegExp(query, /[A-Z]/.test(query) ? 'u' : 'iu');
    return (text) => pattern.test(text);
  }
  const needle = query.toLowerCase();
  return (text) => text.toLowerCase().includes(needle);
}
