import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';

/** Real recordings of many tools and machines, beside the repository. */
const SHARED = new URL('../../../../../shared/corpus/', import.meta.url);
/** Where that is absent: the few of our own. */
const OWN = new URL('../../../../fixtures/corpus/', import.meta.url);
/** Recordings by value, which stand for those of other tools. */
const MADE = new URL('../../../../fixtures/perfdata/', import.meta.url);

export const hasSharedCorpus = existsSync(SHARED);

export interface CorpusFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Where a file or folder of the corpus is, or would be. */
export function corpusUrl(path: string): URL {
  if (hasSharedCorpus) return new URL(path, SHARED);
  return path === 'perfdata/' ? MADE : new URL(path, OWN);
}

/** Why a test cannot have this part of the corpus; false where it can. For the `skip` option. */
export function lacksCorpus(path: string): string | false {
  return existsSync(corpusUrl(path)) ? false : `${path} is in the shared corpus alone`;
}

/** The real files under a folder of the corpus; none where it is absent. */
export function corpusFiles(folder: string): CorpusFile[] {
  const root = corpusUrl(`${folder}/`);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .filter((name) => !/\.(?:json|txt|md|ts|c)$/.test(name) && statSync(new URL(name, root)).isFile())
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(new URL(name, root))) }));
}

/** One text file of the corpus, null where it is absent. */
export function corpusText(path: string): string | null {
  const url = corpusUrl(path);
  return existsSync(url) ? readFileSync(url, 'utf8') : null;
}
