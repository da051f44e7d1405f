import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedPauses, unusedReasons, wallClockLoops } from './test-patterns.ts';

const linesOf = (found: readonly { line: number }[]) => found.map(({ line }) => line);

const SPINS = [
  'while (Date.now() < end);',
  'while (Date.now() - begin < 300) Math.sqrt(2);',
  "const script = 'const end = Date.now() + 300; while (Date.now() < end);';",
  'for (const end = performance.now() + 20; performance.now() < end; );',
  'for (let i = 0; hot(i) && performance.now() < end; i++);',
  '} while (page[1]! < 2 ** 31 && performance.now() < end);',
  'while (process.hrtime.bigint() - begin < 300_000_000n) turn();',
  'while (Number(process.hrtime(begin)[1]) < 1e6);',
  'while (\n  seen.size < 300 &&\n  Date.now() < end\n) {',
  'while time.monotonic() < end: hot()',
  'while time.perf_counter_ns() < end:',
  'while (time(NULL) < end) hot();',
  'while (clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec < end) hot();',
  'while [ $(date +%s) -lt $end ]; do :; done',
  'while [ $SECONDS -lt 3 ]; do :; done',
];

test('every loop on the wall clock is found, in programs inside of texts, too', () => {
  for (const text of SPINS) assert.deepEqual(linesOf(wallClockLoops(`ok();\n${text}\n`)), [2], text);
  assert.deepEqual(wallClockLoops(`  ${SPINS[0]}`), [{ line: 1, text: SPINS[0] }]);
});

test('loops on anything else are not', () => {
  for (const text of [
    'while (process.cpuUsage(before).user < 50_000) hot();',
    'spinCpu(300);',
    'const began = performance.now();\nfor (const row of rows) use(row);\nassert.ok(performance.now() - began < 5);',
    'for (let i = 0; i < 10; i++) times.push(Date.now());',
    // A time that is only the seed, or that an assertion inside bounds.
    'for (let seed = Date.now(); rounds < 10; seed++) round(seed);',
    'while (isRunning()) assert.ok(performance.now() < end);',
    '// It was `while (Date.now() < end)`.',
    'const meanwhile = Date.now();',
    'strtime(0); format (Date.now())',
  ])
    assert.deepEqual(wallClockLoops(text), [], text);
});

test('a reason on the line or above it is enough, and one without its loop is found', () => {
  const [loop] = SPINS;
  const reason = '// Wall time: turns of the loop are measured in it.';
  for (const text of [
    `${loop} ${reason}`,
    `${reason}\n${loop}`,
    `${reason}\n// And so on.\n${loop}`,
    `/* Wall time: it is measured. */\n${loop}`,
    `/**\n * Wall time: it is measured.\n */\n${loop}`,
    `# Wall time: it is measured.\n${SPINS[9]}`,
  ]) {
    assert.deepEqual(wallClockLoops(text), [], text);
    assert.deepEqual(unusedReasons(text), [], text);
  }
  for (const text of [
    `// Wall time:\n${loop}`,
    `// It is wall time.\n${loop}`,
    `${reason}\n\n${loop}`,
    `${reason}\nother();\n${loop}`,
  ])
    assert.equal(wallClockLoops(text).length, 1, text);
  assert.deepEqual(linesOf(unusedReasons(`ok();\n${reason}\nspinCpu(5);`)), [2]);
});

const PAUSES = [
  'await delay(500);',
  'await setTimeout(60);',
  'await timers.setTimeout(1_000);',
  'await new Promise((resolve) => setTimeout(resolve, 50));',
  'await new Promise<void>((done) => { setTimeout(done, 1.5) });',
  'Atomics.wait(nothing, 0, 0, 100);',
  "const command = ['sh', '-c', 'sleep 0.5; cat'];",
  'const script = `start & sleep 2; kill $!`;',
  'time.sleep(0.5)',
  'usleep(1000);',
];

test('every pause of a fixed length is found', () => {
  for (const text of PAUSES)
    assert.deepEqual(linesOf(fixedPauses(`test('it', async () => {\n  ${text}\n});`)), [2], text);
  // One after another is looked at, but each for a time that should be enough.
  assert.equal(fixedPauses('for (const one of all) {\n  await delay(500);\n  look(one);\n}').length, 1);
  assert.equal(
    fixedPauses('while (more()) {\n  test(async () => {\n    await delay(5);\n  });\n}').length,
    1,
  );
});

test('a pause between two looks is none, nor what only lives, nor one with a reason', () => {
  for (const text of [
    'while (!isThere()) await delay(20);',
    'for (let looks = 0; looks < 300 && !isThere(); looks++)\n  await delay(20);',
    'for (const until = performance.now() + 5; isThere(); ) {\n  look();\n  await delay(20);\n}',
    'do await delay(20);\nwhile (!isThere());',
    'while (cpuSeconds(pid) < 1) Atomics.wait(nothing, 0, 0, 10);',
    "const turn = 'until [ -e file ]; do sleep 0.1; done';",
    'await until(() => isThere());',
    'await delay(interval);',
    "const command = ['sleep', '60'];",
    'sleep 0',
    '// Wall time: the interval is what is tested.\nawait delay(500);',
  ])
    assert.deepEqual(fixedPauses(text), [], text);
});
