/**
 * What makes a test fail by chance on a busy machine, found in its text: programs inside of strings, too,
 * in whichever language.
 */
export interface Finding {
  readonly line: number;
  /** The line itself, without its indentation. */
  readonly text: string;
}

const CLOCK =
  /\b(?:Date\.now|performance\.now|process\.hrtime(?:\.bigint)?|hrtime(?:\.bigint)?|time\.(?:time|monotonic|perf_counter)(?:_ns)?|clock_gettime|gettimeofday)\s*\(|\btime\((?:NULL|nullptr|0)?\)|\$\(date \+%s|\$SECONDS\b/;
const LOOP_HEAD = /\b(?:while|for)\b\s*(\(|\[)?/g;
const REASON = /(?:\/\/|\/\*|^\s*\*|#)\s*Wall time: *\S/;
const COMMENT = /^\s*(?:\/\/|\/\*|\*|#)/;
/** The longest condition that is looked at; none is nearly so long. */
const LONGEST_HEAD = 600;

/** Loops whose condition asks the clock on the wall, and that have no reason for it beside them. */
export function wallClockLoops(text: string): Finding[] {
  return withoutReason(text, loopLines(text));
}

/**
 * Pauses of a length that should be enough, outside of a loop that looks whether it was, without a reason.
 */
export function fixedPauses(text: string): Finding[] {
  return withoutReason(text, pauseLines(text));
}

function withoutReason(text: string, found: readonly number[]): Finding[] {
  const lines = text.split('\n');
  return found.filter((line) => reasonLine(lines, line) === null).map((line) => finding(lines, line));
}

/** Reasons that stand beside neither any more. */
export function unusedReasons(text: string): Finding[] {
  const lines = text.split('\n');
  const found = [...loopLines(text), ...pauseLines(text)];
  const used = new Set(found.map((line) => reasonLine(lines, line)));
  return lines.flatMap((one, index) =>
    REASON.test(one) && !used.has(index + 1) ? [finding(lines, index + 1)] : [],
  );
}

function finding(lines: readonly string[], line: number): Finding {
  return { line, text: lines[line - 1]!.trim() };
}

/** Numbers of the lines where such loops begin, reasons or not. */
function loopLines(text: string): number[] {
  const found = new Set<number>();
  for (const head of text.matchAll(LOOP_HEAD)) {
    const line = text.slice(0, head.index).split('\n').length;
    const isComment = COMMENT.test(text.split('\n')[line - 1]!);
    if (!isComment && CLOCK.test(condition(text, head.index, head[0]))) found.add(line);
  }
  return [...found];
}

/**
 * The condition of the loop at `start`: between its brackets; of Python and a shell, the rest of its line.
 */
function condition(text: string, start: number, head: string): string {
  const open = start + head.length - 1;
  if (!head.endsWith('(')) return /^[^\n;]*/.exec(text.slice(start))![0];
  let depth = 0;
  const parts = [''];
  for (let at = open; at < Math.min(text.length, open + LONGEST_HEAD); at++) {
    const char = text[at]!;
    if (char === '(') depth++;
    if (char === ')' && --depth === 0) break;
    if (char === ';' && depth === 1) parts.push('');
    else parts[parts.length - 1] += char;
  }
  // `for (first; condition; next)`: the clock may be read in the first.
  return parts.length > 1 ? parts[1]! : parts[0]!;
}

/** The line of the comment that gives the reason: on the line itself, or what stands above it; null: none. */
function reasonLine(lines: readonly string[], line: number): number | null {
  if (REASON.test(lines[line - 1]!)) return line;
  for (let above = line - 1; above > 0 && COMMENT.test(lines[above - 1]!); above--)
    if (REASON.test(lines[above - 1]!)) return above;
  return null;
}

const PAUSES: readonly RegExp[] = [
  // `await delay(500)`, whatever its name is here.
  /\bawait (?:\w+\.)?(?:delay|sleep|pause|setTimeout|wait)\(\s*[\d_.]+\s*\)/,
  // `new Promise((resolve) => setTimeout(resolve, 500))`
  /\bnew Promise(?:<\w+>)?\(\s*\(?(\w+)\)?\s*=>\s*(?:\{\s*)?setTimeout\(\s*\1\s*,\s*[\d_.]+\s*\)/,
  /\bAtomics\.wait\([^)]*,\s*[\d_.]+\s*\)/,
  // In the text of a shell, and that of Python, perl and C.
  /(?:^|[;&|({`'"]|\b(?:do|then|else))\s*sleep (?!0\b(?!\.))\d*\.?\d+/,
  /\b(?:time\.sleep|usleep|nanosleep)\(\s*[\d_.]+\s*\)/,
];
/** Loops that look again and again: `for (const one of list)` is none. */
/** All on a line: `while (isThere()) await delay(20)`, `until [ -e file ]; do sleep 0.1; done`. */
const OWN_LOOP =
  /^\s*do\b|\bwhile\s*\(.*(?:await|Atomics)|\bfor\s*\(.*;.*(?:await|Atomics)|\b(?:while|until)\b.*\bdo\s+sleep/;
const LOOKING = /^\s*(?:\}\s*)?(?:while\b|do\b|for\s*\(.*;)/;

/** Numbers of the lines with such pauses, reasons or not. */
function pauseLines(text: string): number[] {
  const lines = text.split('\n');
  return lines.flatMap((one, index) => {
    if (COMMENT.test(one) || !PAUSES.some((pattern) => pattern.test(one))) return [];
    return isInLookingLoop(lines, index) ? [] : [index + 1];
  });
}

const indentOf = (line: string) => /^\s*/.exec(line)![0].length;

/** By the indentation, as the formatter makes it; a function begins anew. */
function isInLookingLoop(lines: readonly string[], index: number): boolean {
  const own = lines[index]!;
  if (OWN_LOOP.test(own)) return true;
  let indent = indentOf(own);
  for (let above = index - 1; above >= 0 && indent > 0; above--) {
    const line = lines[above]!;
    if (line.trim() === '' || indentOf(line) >= indent) continue;
    indent = indentOf(line);
    if (LOOKING.test(line)) return true;
    if (/=>\s*\{\s*$|\bfunction\b/.test(line)) return false;
  }
  return false;
}
