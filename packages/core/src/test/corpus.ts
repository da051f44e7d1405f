import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';

const CORPUS = new URL('../../../../../shared/corpus/', import.meta.url);

export interface CorpusFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The real files under a folder of the corpus beside the repository; none where
 * it is absent. Tests then skip.
 */
export function corpusFiles(folder: string): CorpusFile[] {
  const root = new URL(`${folder}/`, CORPUS);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((name) => !name.endsWith('.json') && statSync(new URL(name, root)).isFile())
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(new URL(name, root))) }));
}

/** One text file of the corpus, null where it is absent. */
export function corpusText(path: string): string | null {
  const url = new URL(path, CORPUS);
  return existsSync(url) ? readFileSync(url, 'utf8') : null;
}
