/** Test files that are not compiled with the others, by a list with the reasons. */

export const FROM_SOURCES = new URL('from-sources.tsv', import.meta.url);

/** Paths of test files; a line is `PATH<tab>REASON`. */
export function pathsFromSources(text: string): ReadonlySet<string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Set(
    lines.map((line) => {
      const [path = '', reason = ''] = line.split('\t');
      if (reason === '') throw new Error(`from-sources.tsv: "${line}" has no reason.`);
      return path;
    }),
  );
}
