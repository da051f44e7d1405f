/**
 * `npm run docs:api`: the reference of every public entry, a Markdown page each in `docs/api`, made from the
 * types and their comments. API Extractor reads them; `api-page.ts` writes the pages.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { COMPILER, type Entry, entriesOf } from './api-entries.ts';
import { type ApiEntry, type ApiItem, apiIndex, apiPage, codeOf, repeatedNames } from './api-page.ts';
import { globSync } from './glob.ts';

const root = resolve(import.meta.dirname, '..');
const none = { default: { logLevel: ExtractorLogLevel.None } };

function configOf(entry: Entry, model: string, every: readonly Entry[]): ExtractorConfig {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: entry.folder,
      mainEntryPointFilePath: entry.types,
      compiler: {
        overrideTsconfig: { compilerOptions: COMPILER, files: every.map(({ types }) => types) },
      },
      docModel: { enabled: true, apiJsonFilePath: model },
      apiReport: { enabled: false, reportFileName: 'none.api.md' },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: none,
        extractorMessageReporting: none,
        tsdocMessageReporting: none,
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(entry.folder, 'package.json'),
  });
}

const squeezed = (comment: string) => comment.replace(/[\s*]+/g, ' ').trim();

const typesOf = (folders: readonly string[]) =>
  folders
    .flatMap((folder) => globSync([join(folder, 'dist/types')], /\.d\.ts$/))
    .map((file) => readFileSync(file, 'utf8'));

const COMMENTS = /\/\*\*[\s\S]*?\*\//g;

/** Comments as they stand in the types: API Extractor joins the lines of code and drawings in them. */
function originalComments(types: readonly string[]): ReadonlyMap<string, string> {
  const comments = types.flatMap((text) => text.match(COMMENTS) ?? []);
  return new Map(comments.map((comment) => [squeezed(comment), comment]));
}

const squeezedCode = (code: string) =>
  code
    .replace(COMMENTS, '')
    .replace(/[\s;]+/g, ' ')
    .trim();

/** Constants with comments at their fields (`LOSS_KINDS`), by their code: API Extractor leaves those out. */
function originalConstants(types: readonly string[]): ReadonlyMap<string, string> {
  const constants = types.flatMap((text) => [
    ...text.matchAll(/^export declare const (\w+: \{\n[\s\S]*?\n\});$/gm),
  ]);
  return new Map(
    constants.filter(([, code]) => code!.includes('/**')).map(([, code]) => [squeezedCode(code!), code!]),
  );
}

function withOriginal(item: ApiItem, constants: ReadonlyMap<string, string>): ApiItem {
  const original = item.kind === 'Variable' ? constants.get(squeezedCode(codeOf(item))) : undefined;
  return original === undefined ? item : { ...item, original };
}

/** What API Extractor says of each entry. One compilation for all. */
function modelsOf(entries: readonly Entry[]): ApiEntry[] {
  const scratch = mkdtempSync(join(tmpdir(), 'counterpoint-api-'));
  const model = join(scratch, 'entry.api.json');
  const types = typesOf([...new Set(entries.map(({ folder }) => folder))]);
  const originals = originalComments(types);
  const constants = originalConstants(types);
  const original = (key: string, value: unknown) =>
    key === 'docComment' && typeof value === 'string' ? (originals.get(squeezed(value)) ?? value) : value;
  try {
    const compilerState = CompilerState.create(configOf(entries[0]!, model, entries), {
      additionalEntryPoints: entries.map(({ types }) => types),
    });
    return entries.map((entry) => {
      Extractor.invoke(configOf(entry, model, entries), {
        localBuild: true,
        compilerState,
        messageCallback: (message) => {
          if (message.logLevel === ExtractorLogLevel.Error) throw new Error(`${entry.name}: ${message.text}`);
          message.handled = true;
        },
      });
      const { members } = JSON.parse(readFileSync(model, 'utf8'), original).members[0];
      return {
        specifier: entry.specifier,
        path: entry.name.replace(/^node\//, 'counterpoint/'),
        items: (members as ApiItem[]).map((item) => withOriginal(item, constants)),
        repeated: repeatedNames(readFileSync(entry.types, 'utf8')),
      };
    });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Writes the pages of all entries of the packages in the folders `names`, and an index; says which. */
export function writeReference(names: readonly string[], output: string): readonly string[] {
  const entries = modelsOf(names.flatMap((name) => entriesOf(`packages/${name}`)));
  const pages = new Map(entries.map((entry) => [`${entry.path}.md`, apiPage(entry, entries)]));
  pages.set('index.md', apiIndex(entries));
  rmSync(output, { recursive: true, force: true });
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(output, path)), { recursive: true });
    writeFileSync(join(output, path), text);
  }
  return [...pages.keys()];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const pages = writeReference(['node', 'core', 'trace'], join(root, 'docs/api'));
  console.log(`docs/api: ${pages.length} pages`);
}
