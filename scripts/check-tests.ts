/**
 * The fence around what makes tests fail by chance on a busy machine; what is found is in `test-patterns.ts`.
 */
import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';
import { type Finding, fixedPauses, unusedReasons, wallClockLoops } from './test-patterns.ts';

/** As many as there are: the number must only become smaller. */
const MOST_FIXED_PAUSES = 89;

const paths = globSync(['packages', 'scripts', 'bench'], /\.ts$/).filter(
  (path) =>
    (/\.(?:test|fuzz|pmu)\.ts$/.test(path) || /^packages\/\w+\/src\/test\//.test(path)) &&
    // Its texts are examples.
    path !== 'scripts/test-patterns.test.ts',
);
const texts = paths.map((path) => [path, readFileSync(path, 'utf8')] as const);
const found = (find: (text: string) => Finding[]) =>
  texts.flatMap(([path, text]) => find(text).map(({ line, text: one }) => `  ${path}:${line}: ${one}`));

let failed = false;
function fail(what: string, places: readonly string[], remedy: string): void {
  console.error(`Tests: ${what}${places.map((place) => `\n${place}`).join('')}\n${remedy}`);
  failed = true;
}

const loops = found(wallClockLoops);
if (loops.length > 0)
  fail(
    'a loop until so much time has passed on the wall. On a busy machine it gets a part of the CPU only:',
    loops,
    `  Use spinCpu, or SPIN_CPU_SOURCE in the text of a program (packages/node/src/test/until-told.ts).
  Where wall time is what is measured, or the most that something may take, say so in a comment on the
  line or above it: // Wall time: REASON.`,
  );

const unused = found(unusedReasons);
if (unused.length > 0) fail('reasons for loops that are not there:', unused, '  Remove the comment.');

const pauses = found(fixedPauses);
if (pauses.length > MOST_FIXED_PAUSES)
  fail(
    `${pauses.length} pauses of a length that should be enough, at most ${MOST_FIXED_PAUSES}:`,
    pauses,
    '  Wait for what must be there: `until` (packages/node/src/test/until-told.ts), a line that it prints.',
  );
else if (pauses.length < MOST_FIXED_PAUSES)
  fail(
    `${pauses.length} pauses of a length that should be enough.`,
    [],
    `  Lower MOST_FIXED_PAUSES in scripts/check-tests.ts from ${MOST_FIXED_PAUSES}.`,
  );

if (failed) process.exitCode = 1;
