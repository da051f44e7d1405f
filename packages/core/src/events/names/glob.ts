import { nearestNames } from '../../base/index.ts';

/** Whether a name has wildcards: `*`, `?` or `[…]`. */
export function isGlob(pattern: string): boolean {
  return /[*?[]/.test(pattern);
}

/**
 * Shell wildcards: `*`, `?`, `[a-z]`, `[!x]`. Only the last star is ever tried again, so the time is at
 * most the product of both lengths.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  let textAt = 0;
  let patternAt = 0;
  let starAt = -1;
  let starText = 0;
  while (textAt < text.length) {
    if (pattern[patternAt] === '*') {
      starAt = patternAt++;
      starText = textAt;
      continue;
    }
    const next = matchOne(text[textAt]!, pattern, patternAt);
    if (next > 0) {
      textAt++;
      patternAt = next;
    } else if (starAt >= 0) {
      patternAt = starAt + 1;
      textAt = ++starText;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === '*') patternAt++;
  return patternAt === pattern.length;
}

/** The place after the element at `at` when it matches the character, else 0. */
function matchOne(character: string, pattern: string, at: number): number {
  const element = pattern[at];
  if (element === undefined) return 0;
  if (element === '?') return at + 1;
  const close = element === '[' ? pattern.indexOf(']', at + 2) : -1;
  if (close < 0) return element === character ? at + 1 : 0;
  let inside = at + 1;
  const negated = pattern[inside] === '!';
  if (negated) inside++;
  let found = false;
  while (inside < close) {
    const isRange = pattern[inside + 1] === '-' && inside + 2 < close;
    const last = isRange ? pattern[inside + 2]! : pattern[inside]!;
    if (character >= pattern[inside]! && character <= last) found = true;
    inside += isRange ? 3 : 1;
  }
  return found !== negated ? close + 1 : 0;
}

/** Words of names (`sched_switch` has two), against which the fixed parts of a pattern are held. */
function wordsOf(names: readonly string[]): Set<string> {
  return new Set(names.flatMap((name) => [name, ...name.split('_')]));
}

/** A pattern whose first fixed part that none of the words has is replaced by those that are near to it. */
function corrected(pattern: string, names: readonly string[]): string[] {
  const words = wordsOf(names);
  for (const [fixed] of pattern.matchAll(/[^*?[\]]+/g)) {
    if (names.some((name) => name.includes(fixed))) continue;
    return nearestNames(fixed, words).map((word) => pattern.replace(fixed, word));
  }
  return [pattern];
}

/**
 * `sched:*swich*` → `sched:*switch*`: patterns near to one that matches none of the
 * tracepoints, and that match some.
 */
export function nearestGlobs(system: string, name: string, tracepoints: readonly string[]): string[] {
  const pairs = tracepoints.map(
    (full) => [full.slice(0, full.indexOf(':')), full.slice(full.indexOf(':') + 1)] as const,
  );
  const systems = [...new Set(pairs.map(([first]) => first))];
  return corrected(system, systems).flatMap((inSystem) => {
    const names = pairs.flatMap(([first, second]) => (matchesGlob(first, inSystem) ? [second] : []));
    return corrected(name, names)
      .filter((pattern) => names.some((second) => matchesGlob(second, pattern)))
      .map((pattern) => `${inSystem}:${pattern}`);
  });
}
