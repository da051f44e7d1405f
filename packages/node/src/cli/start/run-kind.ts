/** What a command line will run, as far as its words tell. */

/**
 * Verbs whose start is a large part of what they take, and the script that the build makes for each. V8 takes
 * up a whole script, so verbs share one only if they run nearly the same code. A report is one of them if its
 * recording is small.
 *
 * Others read recordings and traces for seconds, in loops that are faster as modules, where V8 knows that a
 * binding does not change.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  record: 'record',
  stat: 'stat',
  flight: 'flight',
  loop: 'loop',
  'off-cpu': 'loop',
  list: 'list',
  evlist: 'evlist',
  'buildid-list': 'evlist',
  report: 'report',
};

/** A report of more than this takes long enough for its loops to matter more than its start. */
const SMALL_BYTES = 4 << 20;
/** An option with its value in the same word. */
const WITH_VALUE = /^(?:-i|--[a-z-]+=)(.+)/s;
/** `--input` may be shortened to this. */
const INPUT = /^(?:-i|--inp)/;

/**
 * Whether a verb that reads a recording reads a small file, as far as the words tell: each word
 * that is the name of something is the name of a small one. `sizeOf` tells the size of a regular
 * file, and null if there is none.
 */
function readsSmallFile(words: readonly string[], sizeOf: (path: string) => number | null): boolean {
  const own = words.slice(1);
  const named = own.flatMap((word) => WITH_VALUE.exec(word)?.[1] ?? (word.startsWith('-') ? [] : word));
  const sizes = named.map(sizeOf).filter((size) => size !== null);
  const all = sizes.length === 0 && !own.some((word) => INPUT.test(word)) ? [sizeOf('perf.data')] : sizes;
  return all.length > 0 && all.every((size) => size !== null && size <= SMALL_BYTES);
}

/** For the build: each script and its verbs. */
export function verbsOfScripts(): [file: string, verbs: string[]][] {
  const verbs = Object.keys(SCRIPTS);
  const files = [...new Set(verbs.map((verb) => scriptName([verb])))];
  return files.map((file) => [file, verbs.filter((verb) => scriptName([verb]) === file)]);
}

/** Programs whose recording runs more of our code than that of others. */
const NODE = /(?:^|\/)(?:node|npm|npx|yarn|pnpm|tsx|ts-node)$/;
/**
 * A sampling format may be a module of the user's: `--format`, which may be shortened, and `list formats`.
 */
const FORMAT = /^--fo|^formats$/;
const OPTION = /^--?[a-zA-Z][\w-]*/;

/** The file of its verb's script, beside `start.cjs`. */
export function scriptName([verb = '']: readonly string[]): string {
  return `cli-${SCRIPTS[verb]}.cjs`;
}

/**
 * Whether the command line runs as a script. Then nothing of the user's is loaded that imports this package.
 * A report does if its recording is small. `sizeOf` tells the bytes of a regular file; null if there is none.
 */
export function isForScript(
  words: readonly string[],
  sizeOf: (path: string) => number | null = () => null,
): boolean {
  const [verb = ''] = words;
  if (!Object.hasOwn(SCRIPTS, verb) || words.some((word) => FORMAT.test(word))) return false;
  return verb !== 'report' || readsSmallFile(words, sizeOf);
}

/** Verbs that wait for a program, or for a user, nearly all of their time. */
const RECORDERS: ReadonlySet<string> = new Set(['record', 'stat', 'flight']);

export function isRecorder(words: readonly string[]): boolean {
  return RECORDERS.has(words[0] ?? '');
}

/**
 * Words that stand for what runs: options, and a command that is Node. A run with another one than
 * before has compiled more.
 */
export function marksOf(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const own = end < 0 ? words.slice(1) : words.slice(1, end);
  const options = own.flatMap((word) => OPTION.exec(word)?.[0] ?? []);
  const isNode = words.some((word) => NODE.test(word));
  return [...new Set([...options, ...(isNode ? ['node'] : [])])]
    .map((mark) => mark.slice(0, 40))
    .slice(0, 24);
}

export interface Runtime {
  readonly versions: { readonly v8?: string };
  readonly arch: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Of the file for this verb, this version of V8 and these flags. V8 looks at all of it again. */
export function cacheName(
  [verb = '']: readonly string[],
  { versions, arch, execArgv, env }: Runtime,
): string {
  const flags = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ').trim();
  let hash = 0;
  for (let at = 0; at < flags.length; at++) hash = (Math.imul(hash, 31) + flags.charCodeAt(at)) >>> 0;
  return `${verb}-${versions.v8}-${arch}${flags === '' ? '' : `-${hash.toString(16)}`}`;
}
