/**
 * The words of a NODE_OPTIONS as Node divides them (`ParseNodeOptionsEnvVar` in its src/node_options.cc);
 * null where Node refuses to start with it:
 *
 *   text := (" " | char | string)*     only U+0020 divides words: a tab is a character of one
 *   string := '"' ("\" any | char)* '"'     it may begin and end inside a word; outside of one a backslash is a character
 */
export function nodeOptionWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    let char = text[at]!;
    if (char === '"') {
      isInString = !isInString;
      continue;
    }
    if (char === ' ' && !isInString) {
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    if (char === '\\' && isInString) {
      if (++at === text.length) return null;
      char = text[at]!;
    }
    word = (word ?? '') + char;
  }
  if (isInString) return null;
  if (word !== null) words.push(word);
  return words;
}

/** `text` with more flags. What is there stays as it is, byte by byte: no quoting is undone and none made. */
export function appendNodeOptions(text: string, flags: readonly string[]): string {
  return [...(text === '' ? [] : [text]), ...flags].join(' ');
}

/**
 * A flag as V8 and Node compare them: `--perf_basic_prof` is `--perf-basic-prof`.
 * A value after `=` is left out.
 */
export function flagName(word: string): string {
  return word.split('=', 1)[0]!.replaceAll('_', '-');
}
