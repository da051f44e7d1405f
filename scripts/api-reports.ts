/**
 * The public surface as text, `api/PACKAGE/ENTRY.api.md`: what every entry of the packages' export maps
 * offers, with its types. Without a word it compares and fails where they differ; `--update` writes them.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { COMPILER, type Entry, entriesOf } from './api-entries.ts';

const root = resolve(import.meta.dirname, '..');
const update = process.argv.includes('--update');

const fileOf = (entry: Entry) => `${entry.name.replaceAll('/', '.')}.api.md`;

function configOf(entry: Entry, reports: string, every: readonly Entry[]): ExtractorConfig {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: entry.folder,
      mainEntryPointFilePath: entry.types,
      compiler: {
        overrideTsconfig: { compilerOptions: COMPILER, files: every.map(({ types }) => types) },
      },
      apiReport: {
        enabled: true,
        reportFileName: fileOf(entry),
        reportFolder: reports,
        reportTempFolder: join(reports, 'temporary'),
        includeForgottenExports: false,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.None },
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.Warning },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(entry.folder, 'package.json'),
  });
}

/** What a report offers by name: `export class Recording`, `export { a }`. */
function offeredNames(report: string): string[] {
  return [
    ...report.matchAll(/^export (?:declare |abstract )*(?:class|const|enum|function|interface|type) (\w+)/gm),
  ].map(([, name]) => name!);
}

interface Report {
  readonly entry: Entry;
  readonly text: string;
  /** Names that stand in the types of this entry, and that it does not offer itself. */
  readonly hidden: readonly string[];
}

/** One compilation for all entries. */
function reportsOf(entries: readonly Entry[], folder: string): Report[] {
  const configs = entries.map((entry) => configOf(entry, folder, entries));
  const compilerState = CompilerState.create(configs[0]!, {
    additionalEntryPoints: entries.map(({ types }) => types),
  });
  return entries.map((entry, index) => {
    const hidden: string[] = [];
    Extractor.invoke(configs[index]!, {
      localBuild: true,
      compilerState,
      messageCallback: (message) => {
        const name = /^The symbol "(\w+?)(?:_\d+)?" needs to be exported/.exec(message.text)?.[1];
        if (message.messageId === 'ae-forgotten-export' && name !== undefined) hidden.push(name);
        else if (message.logLevel === ExtractorLogLevel.Error)
          throw new Error(`${entry.name}: ${message.text}`);
        message.handled = true;
      },
    });
    return { entry, text: readFileSync(join(folder, fileOf(entry)), 'utf8'), hidden };
  });
}

/** A type that no entry offers cannot be named by who uses what has it. */
function hiddenProblems(reports: readonly Report[]): string[] {
  const offered = new Set(reports.flatMap(({ text }) => offeredNames(text)));
  return reports.flatMap(({ entry, hidden }) =>
    hidden
      .filter((name) => !offered.has(name))
      .map((name) => `${entry.name}: ${name} is in its types, and no entry exports it`),
  );
}

function changedProblems(reports: readonly Report[]): string[] {
  const kept = (entry: Entry) => join(root, 'api', `${entry.name}.api.md`);
  const wanted = new Set(reports.map(({ entry }) => kept(entry)));
  const changed = reports.filter(
    ({ entry, text }) => !existsSync(kept(entry)) || readFileSync(kept(entry), 'utf8') !== text,
  );
  const gone = readdirSync(join(root, 'api'), { recursive: true })
    .map((path) => join(root, 'api', String(path)))
    .filter((path) => path.endsWith('.api.md') && !wanted.has(path));
  if (!update)
    return [...changed.map(({ entry }) => entry.name), ...gone].map(
      (name) => `${name}: the surface has changed. Run npm run api, and look at the difference.`,
    );
  for (const { entry, text } of changed) {
    mkdirSync(dirname(kept(entry)), { recursive: true });
    writeFileSync(kept(entry), text);
  }
  for (const path of gone) rmSync(path);
  return [];
}

const scratch = mkdtempSync(join(tmpdir(), 'counterpoint-api-'));
try {
  const entries = readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .flatMap(entriesOf);
  const reports = reportsOf(entries, scratch);
  const problems = [...hiddenProblems(reports), ...changedProblems(reports)];
  if (problems.length > 0) {
    console.error(`API reports:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true });
}
