import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE, type Verb } from './common/args.ts';
import { familyHelp, generalHelp, helpOfHelp, usageLines, verbHelp } from './common/help.ts';
import { descriptorSink, Output, OutputClosed } from './common/output.ts';
import { printError } from './common/output-error.ts';
import { parseArguments } from './common/parse.ts';
import { UsageError } from './common/usage-error.ts';
import { TOPICS } from './topics.ts';

interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ default: Verb }>;
}

/** Every verb, of one word or two. Each is a chunk of its own in the bundle, loaded when it is called. */
export const VERBS: readonly VerbEntry[] = [
  {
    name: 'stat',
    summary: 'count events of a program, of running processes or of the whole machine',
    load: () => import('./measuring/stat/stat.ts'),
  },
  {
    name: 'stat record',
    summary: 'count as stat does, and keep the counts in a recording',
    load: () => import('./measuring/stat/record.ts'),
  },
  {
    name: 'stat report',
    summary: 'show the counts that stat record kept, as stat shows them',
    load: () => import('./measuring/stat/report.ts'),
  },
  {
    name: 'record',
    summary: 'sample a program or running processes into a perf.data file',
    load: () => import('./measuring/record/record.ts'),
  },
  {
    name: 'top',
    summary: 'show which functions run, while they run',
    load: () => import('./measuring/top/top.ts'),
  },
  {
    name: 'off-cpu',
    summary: 'show who waits where, and for how long',
    load: () => import('./measuring/off-cpu/off-cpu.ts'),
  },
  {
    name: 'loop',
    summary: 'show the turns of the event loop, and what blocked it',
    load: () => import('./measuring/loop/loop.ts'),
  },
  {
    name: 'flight',
    summary: 'keep what happened last, and write it to a file when something happens',
    load: () => import('./measuring/flight/flight.ts'),
  },
  {
    name: 'report',
    summary: 'show where the samples of a recording fell',
    load: () => import('./reading/report/report.ts'),
  },
  {
    name: 'annotate',
    summary: 'show which instructions and lines of a function the samples fell on',
    load: () => import('./reading/annotate/annotate.ts'),
  },
  {
    name: 'diff',
    summary: 'compare recordings by function, file or binary: what changed beyond noise',
    load: () => import('./reading/diff/diff.ts'),
  },
  {
    name: 'script',
    summary: 'print every sample of a recording',
    load: () => import('./reading/report/script.ts'),
  },
  {
    name: 'export',
    summary: 'turn a recording into a flame graph or the format of another tool',
    load: () => import('./reading/export/export.ts'),
  },
  {
    name: 'evlist',
    summary: 'list the events of a recording, and how they were recorded',
    load: () => import('./reading/contents/evlist.ts'),
  },
  {
    name: 'buildid-list',
    summary: 'list the binaries of a recording with their build ids',
    load: () => import('./reading/contents/buildid-list.ts'),
  },
  {
    name: 'buildid-cache',
    summary: 'keep binaries by build id, so that old recordings have names',
    load: () => import('./reading/contents/buildid-cache.ts'),
  },
  {
    name: 'archive',
    summary: 'put a recording and what names its samples into one file',
    load: () => import('./reading/archive/archive.ts'),
  },
  {
    name: 'inject',
    summary: 'add to a recording what it lacks (build ids, times of waits), or decompress it',
    load: () => import('./reading/inject/inject.ts'),
  },
  {
    name: 'convert',
    summary: 'turn a recording into a history of fixed-size records, or back',
    load: () => import('./reading/convert/convert.ts'),
  },
  {
    name: 'pt record',
    summary: 'record every branch of a program: by Intel PT, or in software where there is none',
    load: () => import('./measuring/pt-record/pt-record.ts'),
  },
  {
    name: 'pt dump',
    summary: 'print the packets of a raw Intel PT trace',
    load: () => import('./reading/pt/dump.ts'),
  },
  {
    name: 'pt flow',
    summary: 'print the instructions and events of a raw Intel PT trace',
    load: () => import('./reading/pt/flow.ts'),
  },
  {
    name: 'pt profile',
    summary: 'count what a raw Intel PT trace executed, exactly',
    load: () => import('./reading/pt/profile.ts'),
  },
  {
    name: 'pt calls',
    summary: 'print the calls of a raw Intel PT trace, with their times',
    load: () => import('./reading/pt/calls.ts'),
  },
  {
    name: 'list',
    summary: 'list the events that can be counted and sampled, and the sampling formats',
    load: () => import('./measuring/list/list.ts'),
  },
  {
    name: 'doctor',
    summary: 'say what this machine can record and count, and why not',
    load: () => import('./measuring/doctor/doctor.ts'),
  },
  {
    name: 'version',
    summary: 'print the version, and what this installation can do',
    load: () => import('./measuring/version/version.ts'),
  },
  {
    name: 'check feature',
    summary: 'say whether this installation has a feature, for scripts',
    load: () => import('./measuring/version/check-feature.ts'),
  },
];

/** Every help text by its name, for the build to write down: `counterpoint` is the general one. */
export async function helpTexts(): Promise<[string, string][]> {
  const verbs = await Promise.all(
    VERBS.map(async ({ name, load }): Promise<[string, string]> => [name, verbHelp((await load()).default)]),
  );
  const topics = await Promise.all(
    TOPICS.map(async ({ name, load }): Promise<[string, string]> => [name, await load()]),
  );
  return [['counterpoint', generalHelp(VERBS, TOPICS)], ...verbs, ...topics];
}

/** Every manual page by its file, for the build to write down. */
export async function manualPages(): Promise<[file: string, text: string][]> {
  const [{ manualOverview, manualPage, pageName }, { packageVersion }] = await Promise.all([
    import('./common/manual.ts'),
    import('./common/version.ts'),
  ]);
  const pages = ['counterpoint', ...VERBS.map(({ name }) => pageName(name))];
  const facts = { version: packageVersion(), pages };
  const ofVerbs = await Promise.all(
    VERBS.map(
      async ({ name, load }): Promise<[string, string]> => [
        `${pageName(name)}.1`,
        manualPage((await load()).default, facts),
      ],
    ),
  );
  return [['counterpoint.1', manualOverview(VERBS, TOPICS, facts)], ...ofVerbs];
}

/** Runs one command line and gives its exit status. */
export async function runCommandLine(words: readonly string[], out: Output, err: Output): Promise<number> {
  try {
    const status = await dispatch(words, out, err);
    out.flush();
    err.flush();
    return status;
  } catch (error) {
    if (error instanceof OutputClosed) return EXIT_OK;
    const status = isUsageError(error) ? EXIT_USAGE : EXIT_FAILURE;
    unlessClosed(() => {
      out.flush();
      printError(error, err, { verbose: isVerbose(words) });
    });
    return status;
  }
}

/** Where nobody reads why something failed, its status says it all the same. */
function unlessClosed(print: () => void): void {
  try {
    print();
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
}

/** After `help`: what help is there? */
const HELP_WORDS: ReadonlySet<string> = new Set(['help', '--help', '-h']);

async function dispatch(words: readonly string[], out: Output, err: Output): Promise<number> {
  const [first, ...rest] = words;
  if (first === undefined) {
    err.write(generalHelp(VERBS, TOPICS));
    return EXIT_USAGE;
  }
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) {
    out.write(generalHelp(VERBS, TOPICS));
    return EXIT_OK;
  }
  if (first === '--version' || first === '-V') {
    const { packageVersion } = await import('./common/version.ts');
    out.line(`counterpoint ${packageVersion()}`);
    return EXIT_OK;
  }
  if (first.startsWith('-')) {
    throw new UsageError(
      `unknown option ${first} before the verb`,
      'Put the options of a verb after it: counterpoint VERB [options]',
    );
  }
  const help = first === 'help';
  if (help && HELP_WORDS.has(rest[0]!)) {
    out.write(helpOfHelp(VERBS, TOPICS));
    return EXIT_OK;
  }
  const name = help ? rest[0]! : first;
  const second = help ? rest[1] : rest[0];
  const topic = TOPICS.find((one) => one.name === name);
  if (topic !== undefined && (help || second === '--help' || second === '-h')) {
    out.write(await topic.load());
    return EXIT_OK;
  }
  const family = familyOf(name, second);
  if (family.length > 0 && (second === undefined || second === '--help' || second === '-h')) {
    const asked = help || second !== undefined;
    (asked ? out : err).write(familyHelp(name, family));
    return asked ? EXIT_OK : EXIT_USAGE;
  }
  const verb = await loadVerb(family.length > 0 ? `${name} ${second}` : name);
  return help ? printHelp(verb, out) : runVerb(verb, family.length > 0 ? rest.slice(1) : rest, out, err);
}

/**
 * Verbs of two words that begin with this one. Where it is a verb itself, the second
 * word has to be one of theirs.
 */
function familyOf(name: string, second: string | undefined): readonly VerbEntry[] {
  const family = VERBS.filter((verb) => verb.name.startsWith(`${name} `));
  const isVerb = VERBS.some((verb) => verb.name === name);
  return !isVerb || family.some((verb) => verb.name === `${name} ${second}`) ? family : [];
}

async function loadVerb(name: string): Promise<Verb> {
  const entry = VERBS.find((verb) => verb.name === name);
  if (entry !== undefined) return (await entry.load()).default;
  const near = nearestNames(
    name,
    [...VERBS, ...TOPICS].map((one) => one.name),
  );
  throw new UsageError(
    `there is no verb '${name}'${didYouMean(near)}`,
    'counterpoint --help lists the verbs.',
  );
}

function printHelp(verb: Verb, out: Output): number {
  out.write(verbHelp(verb));
  return EXIT_OK;
}

async function runVerb(verb: Verb, words: readonly string[], out: Output, err: Output): Promise<number> {
  try {
    const args = parseArguments(verb, words);
    if (args.has('help')) return printHelp(verb, out);
    if (process.platform !== 'linux' && needsLinux(verb, args.words)) await refuseHere(verb);
    return await verb.run({ args, out, err });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    unlessClosed(() => {
      printError(error, err, { prefix: `counterpoint ${verb.name}` });
      for (const line of usageLines(verb)) err.line(line);
      err.line(`counterpoint ${verb.name} --help explains the options.`);
      err.flush();
    });
    return EXIT_USAGE;
  }
}

function needsLinux({ needsLinux: needs = false }: Verb, words: readonly string[]): boolean {
  return typeof needs === 'function' ? needs(words) : needs;
}

async function refuseHere({ name }: Verb): Promise<void> {
  const { requireLinux } = await import('../linux/kernel/sys/linux.ts');
  requireLinux(name);
}

/** Texts of the command line that could not be read, by rooms that know their grammar. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'ERR_EVENT_SYNTAX',
  'ERR_ITRACE_SYNTAX',
  'ERR_RAW_CODE',
  'ERR_TRIGGER',
]);

/** Also an event that does not exist: part of the command line, as for perf. */
function isUsageError(error: unknown): boolean {
  return error instanceof UsageError || (error instanceof CounterpointError && USAGE_CODES.has(error.code));
}

/** Known before the words are parsed, because parsing is one of the things that may fail. */
function isVerbose(words: readonly string[]): boolean {
  if ((process.env['DEBUG'] ?? '') !== '') return true;
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  return own.some((word) => /^-v+$/.test(word) || word === '--verbose');
}

/** The process: called by `bin/counterpoint.js`. */
export async function main(words: readonly string[]): Promise<void> {
  // Said by `bin/counterpoint` where the verb may run a command.
  if ((process.env['COUNTERPOINT_LAUNCHER'] ?? '') !== '')
    (await import('../linux/kernel/target/index.ts')).takeOverFromLauncher();
  else delete process.env['COUNTERPOINT_LAUNCHER'];
  const err = new Output(descriptorSink(2, 'standard error'));
  // Node would print it as it is, with whatever names are in it.
  process.on('uncaughtException', (error) => {
    printError(error, err, { verbose: isVerbose(words) });
    process.exit(EXIT_FAILURE);
  });
  const status = await runCommandLine(words, new Output(descriptorSink(1, 'standard output')), err);
  // A verb that waited for signals has loaded it; with too few descriptors for that, none did.
  if (status !== EXIT_OK)
    (await import('./measuring/shared/stop-signals.ts').catch(() => null))?.endByReceivedSignal();
  process.exit(status);
}
