/**
 * The first code that runs (`dist/start.cjs`). It starts the command line as one script, with what V8 has
 * compiled of it before; or as modules, where a user's own module has to get the same classes as we have.
 */
import { readFileSync, statSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { constants, Script } from 'node:vm';
import { cacheFolder, readCachedCode, writeCachedCode } from './code-cache.ts';
import { tellEarlySignals } from './early-signals.ts';
import { cacheName, isForScript, isRecorder, marksOf, scriptName } from './run-kind.ts';

/** The build puts its own in here: of the texts of all scripts. */
declare const COUNTERPOINT_BUILD: string;

/** What a function has run before V8 thinks of optimising it: eight times as much as usual, or more. */
const PATIENT_BUDGET_BYTES = 1 << 20;
const PATIENT_CALLS = 24_000;
const FIRST_V8_THAT_COUNTS_CALLS = 12;
/** Node's own modules that are loaded by then come from its snapshot, which has flags of its own. */
const STARTED_MS = 200;

interface Program {
  main: (words: readonly string[]) => Promise<void>;
}

/** V8 throws compiled code away that has not run for some collections: later there is less to keep. */
const LONGEST_RUN_SECONDS = 120;

async function start(words: readonly string[]): Promise<void> {
  tellEarlySignals(words);
  const here = __filename;
  const program = join(dirname(here), '../bin/counterpoint.js');
  // What recordings say that they were made by.
  if (basename(process.argv[1] ?? '') === basename(here)) process.argv[1] = program;
  try {
    await (isForScript(words, sizeOf)
      ? asScript(join(dirname(here), scriptName(words)), words)
      : asModules(here)
    ).then(({ main }) => main(words));
  } catch (error) {
    if ((error as NodeJS.ErrnoException | null)?.code !== 'EMFILE') throw error;
    // The program tells it of what it loads later.
    writeSync(
      2,
      'counterpoint: this process may open too few files at a time to load the program\n' +
        '  Raise the limit of open files: ulimit -n 1024 (or LimitNOFILE= of a service).\n',
    );
    process.exitCode = 1;
  }
}

/** The bytes of a regular file. Null if there is none of that name. */
function sizeOf(path: string): number | null {
  try {
    const facts = statSync(path);
    return facts.isFile() ? facts.size : null;
  } catch {
    return null;
  }
}

function asModules(here: string): Promise<Program> {
  return import(new URL('./cli.js', pathToFileURL(here)).href);
}

async function asScript(path: string, words: readonly string[]): Promise<Program> {
  const folder = cacheFolder(COUNTERPOINT_BUILD, process.env);
  const cachePath = folder === null ? null : join(folder, cacheName(words, process));
  const cached = cachePath === null ? null : readCachedCode(cachePath);
  // A function around all of it. The build wrote that, because text that is put together is copied once more.
  const script = new Script(readFileSync(path, 'latin1'), {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cached === null ? {} : { cachedData: cached.bytes }),
  });
  const known = cached === null || script.cachedDataRejected === true ? null : cached.marks;
  const marks = marksOf(words);
  const isWhole = known !== null && marks.every((mark) => known.includes(mark));
  // Written when all has run that this command line needs: functions are compiled when they are first called.
  if (cachePath !== null && !isWhole)
    process.on('exit', () => {
      if (process.uptime() < LONGEST_RUN_SECONDS)
        writeCachedCode(cachePath, script.createCachedData(), [...new Set([...(known ?? []), ...marks])]);
    });
  // V8 keeps its flags with the code, so they stay as they are where it is written.
  else if (isRecorder(words)) setTimeout(optimiseLater, STARTED_MS).unref();
  const module = { exports: {} as Program };
  script.runInThisContext()(module.exports, createRequire(path), module, { url: pathToFileURL(path).href });
  return module.exports;
}

/**
 * A recorder does little and waits much, and a compiler that makes its code fast takes longer than it will
 * ever run. What does run for long, in recordings of high rates, is compiled a little later.
 */
function optimiseLater(): void {
  // V8 says so on standard error where it does not know a flag: 11 counts bytes of
  // bytecode, later ones calls.
  const countsBytes = Number.parseInt(process.versions.v8, 10) < FIRST_V8_THAT_COUNTS_CALLS;
  setFlagsFromString(
    countsBytes
      ? `--interrupt-budget=${PATIENT_BUDGET_BYTES}`
      : `--invocation-count-for-turbofan=${PATIENT_CALLS}`,
  );
}

void start(process.argv.slice(2));
