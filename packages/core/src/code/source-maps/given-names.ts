/** A function that begins at a place in code, both from 1, and its name: line, column, name. */
export type GivenName = readonly [line: number, column: number, name: string];

/**
 * esbuild keeps names by a helper, which hides them from V8: a function that is an argument has no name.
 *
 *     const mix=__name((a,b)=>{ ... },"mix")      V8: a function without a name, at the `(` behind `__name(`
 */
const HELPER = '__name(';
/** Before it: the name, and what gives it. Behind it: the beginning of the function. */
const BEFORE = /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*[=:]\s*(?:\/\* @__PURE__ \*\/ ?)?$/u;
const BEHIND = /\s*(?=(async\b\s*)?)(?:async\b\s*)?(?:function\b\s*\*?\s*)?/y;
/** Names are shorter: a text of one long word would be gone through from each of its letters. */
const MOST_BEFORE = 256;
const MOST_NAMES = 1 << 16;

/** Names that code gives to functions by this helper. Takes a time in proportion to the code. */
export function givenNames(code: string): GivenName[] {
  const names: GivenName[] = [];
  let line = 1;
  let lineStart = 0;
  for (
    let helper = code.indexOf(HELPER);
    helper >= 0 && names.length < MOST_NAMES;
    helper = code.indexOf(HELPER, helper + HELPER.length)
  ) {
    const name = BEFORE.exec(code.slice(Math.max(0, helper - MOST_BEFORE), helper))?.[1];
    if (name === undefined) continue;
    for (
      let end = code.indexOf('\n', lineStart);
      end >= 0 && end < helper;
      end = code.indexOf('\n', lineStart)
    ) {
      line++;
      lineStart = end + 1;
    }
    const inside = helper + HELPER.length;
    BEHIND.lastIndex = inside;
    const [text, async = ''] = BEHIND.exec(code)!;
    // The rest of the text is in the same line, as esbuild writes it.
    names.push([line, inside + text.length - lineStart + 1, name]);
    // An asynchronous arrow function begins at its first word.
    if (async !== '') names.push([line, inside - lineStart + 1, name]);
  }
  return names;
}
