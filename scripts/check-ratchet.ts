/**
 * Counts of what should only become fewer. A count above its limit fails; one that is well below it asks to
 * lower the limit.
 */
import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';
import { typeOnlyCircles } from './import-circles.ts';
import { estimates } from './test-run/files.ts';
import { readSeconds, SAVED_SECONDS, totalSeconds } from './test-run/seconds.ts';
import { parseAllowedSkips } from './test-run/skips.ts';

interface Ratchet {
  name: string;
  limit: number;
  count: number;
  /** Where it is, for whoever wants to have fewer. */
  places: readonly string[];
  /** How far below the limit the count may be: for what changes without anybody's doing. */
  slack?: number;
  /** What makes the count smaller, where one command does. */
  remedy?: string;
  /** Honest work makes it grow: a count above the limit is told, and fails nothing. */
  isHint?: true;
}

const paths = globSync(['packages', 'scripts', 'bench'], /\.ts$/).filter(
  (path) => !path.endsWith('check-ratchet.ts'),
);
const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
const sources = new Map([...texts].filter(([path]) => isSource(path)));
const tests = paths.filter((path) => /\.(test|fuzz)\.ts$/.test(path));
const seconds = readSeconds(SAVED_SECONDS);

/** `export class Recording`, `export { a }`. */
const EXPORTED_NAME =
  /^export (?:\{ |(?:declare |abstract )*(?:class|const|enum|function|interface|type) )(\w+)/gm;

/** `export const PERF_RECORD_SAMPLE = 9`, `export const PERF_SAMPLE_IP: number`. */
const NAMED_NUMBER = /^export const (\w+)(?:: number| = -?\d+);$/gm;

const RATCHETS: readonly Ratchet[] = [
  { limit: 0, ...occurrences('uses of any', /(?::|\bas|<)\s*any\b/g) },
  { limit: 0, ...occurrences('suppressed type errors', /@ts-(?:ignore|expect-error|nocheck)/g) },
  // `#x` hides at run time, too. A constructor has no such form.
  { limit: 0, ...occurrences('members that TypeScript alone hides', /^ +private (?!constructor)/gm) },
  { limit: 0, ...list('files over 600 lines', longFiles()) },
  { limit: 0, ...list('circles of imports that types alone close', circles()) },
  { limit: 3, ...skips() },
  { limit: 897, slack: 30, ...publicNames('public names', (number) => !number) },
  { limit: 349, slack: 30, ...publicNames('public numbers with a name', (number) => number) },
  { limit: 0, ...undocumented() },
  {
    limit: 80,
    slack: 80,
    ...list('test files whose time nobody measured', unmeasured()),
    isHint: true,
    remedy: 'On a machine that does nothing else: npm test -- --unmeasured --save-seconds',
  },
  {
    limit: 3731,
    slack: 2316,
    isHint: true,
    ...list('seconds of all test files, measured or estimated', []),
    count: Math.round(totalSeconds(estimates(tests, seconds))),
  },
];

function isSource(path: string): boolean {
  return path.startsWith('packages/') && !/\.(test|fuzz|pmu)\.ts$|\/test\//.test(path);
}

function list(name: string, places: readonly string[]) {
  return { name, count: places.length, places: [...new Set(places)] };
}

function occurrences(name: string, pattern: RegExp) {
  return list(
    name,
    [...texts].flatMap(([path, text]) => [...text.matchAll(pattern)].map(() => path)),
  );
}

function longFiles(): string[] {
  const isLong = (path: string) => texts.get(path)!.split('\n').length > 600;
  return paths.filter((path) => !path.includes('/generated/') && isLong(path));
}

function circles(): string[] {
  return typeOnlyCircles(sources).map((circle) => circle.join(' '));
}

function skips() {
  const allowed = parseAllowedSkips(readFileSync('scripts/test-run/skips.tsv', 'utf8'));
  const count = allowed.reduce((sum, one) => sum + one.count, 0);
  return { name: 'tests that the CI machine may skip', count, places: allowed.map(({ reason }) => reason) };
}

/**
 * Of each package: a name that its root repeats is one name. Numbers are counted apart: the kernel, Intel or
 * a file format has fixed most of them, and a tool that reads a field wants the one that stands in it.
 */
function publicNames(name: string, isWanted: (isNumber: boolean) => boolean) {
  const names = new Map<string, Set<string>>();
  for (const path of globSync(['api'], /\.api\.md$/)) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    const known = names.get(folder) ?? new Set();
    names.set(folder, known);
    const report = readFileSync(path, 'utf8');
    const numbers = new Set([...report.matchAll(NAMED_NUMBER)].map(([, one]) => one!));
    for (const [, one] of report.matchAll(EXPORTED_NAME)) if (isWanted(numbers.has(one!))) known.add(one!);
  }
  const count = [...names.values()].reduce((sum, { size }) => sum + size, 0);
  return { name, count, places: [...names].map(([path, { size }]) => `${size} in ${path}`) };
}

/** Names, members and fields that a reader of the API reference finds without a word. */
function undocumented() {
  const reports = globSync(['api'], /\.api\.md$/);
  return list(
    'public names and members without a docstring',
    reports.flatMap((path) => (readFileSync(path, 'utf8').match(/\(undocumented\)/g) ?? []).map(() => path)),
  );
}

function unmeasured(): string[] {
  return tests.filter((path) => !seconds.has(path));
}

let failed = false;
for (const { name, limit, count, places, slack = 0, remedy, isHint = false } of RATCHETS) {
  if (count > limit) {
    console.error(
      `Ratchet: ${count} ${name}, at most ${limit}:\n${places.map((at) => `  ${at}`).join('\n')}`,
    );
    if (remedy !== undefined) console.error(remedy);
    failed ||= !isHint;
  } else if (count < limit - slack) {
    console.error(`Ratchet: ${count} ${name}; lower the limit from ${limit}.`);
    failed = true;
  }
}
if (failed) process.exit(1);
