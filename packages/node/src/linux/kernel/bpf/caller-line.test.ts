import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { BpfAssembler } from './assembler.ts';
import { r0, r1, r2, r6, r7, r8 } from './operands.ts';
import type { BpfProgram, SourceLine } from './program.ts';

const SELF = fileURLToPath(import.meta.url);
const SOURCE = readFileSync(SELF, 'utf8').split('\n');

/** What the comment above the line of each slot says. */
function marks(program: BpfProgram): string[] {
  return program.lines.map((line) => {
    assert.equal(line?.file, SELF);
    return / \/\/ (.*)$/.exec(SOURCE[line!.line - 2]!)?.[1] ?? `line ${line!.line}`;
  });
}

test('every slot knows the line that asked for it, in blocks and in what takes many instructions', () => {
  const counts = {
    name: 'counts',
    type: 'array',
    keySizeBytes: 4,
    valueSizeBytes: 8,
    maxEntries: 1,
  } as const;
  const asm = new BpfAssembler({ name: 'lines', type: 'perf-event' });
  // save
  asm.saveContext(r6);
  // wide
  asm.move(r1, 0x1122334455667788n);
  // loop
  asm.repeat(r7, 3, () => {
    // logarithm
    asm.log2(r8, r1);
    // if
    asm.if(r8, '==', 1, () => {
      // count
      asm.countInMap(counts, 0, 1, () => {
        // full
        asm.move(r2, 5);
      });
    });
  });
  // end
  asm.return(r8);
  const names = marks(asm.assemble());
  assert.deepEqual([...new Set(names)], ['save', 'wide', 'loop', 'logarithm', 'if', 'count', 'full', 'end']);
  assert.equal(names.filter((name) => name === 'wide').length, 2);
  // 1 for the destination, and a comparison, a shift and an addition for each of seven steps.
  assert.equal(names.filter((name) => name === 'logarithm').length, 22);
  assert.equal(names.at(-1), 'end');
});

test('a stack that somebody else formats, or cuts short, gives no line and no error', () => {
  const { prepareStackTrace } = Error;
  try {
    Error.prepareStackTrace = () => 7;
    const asm = new BpfAssembler({ name: 'lines', type: 'perf-event' });
    asm.move(r0, 0);
    asm.exit();
    assert.deepEqual(asm.assemble().lines, [null, null]);
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const asm = new BpfAssembler({ name: 'lines', type: 'perf-event' });
  asm.return(0);
  assert.equal(Error.stackTraceLimit, 0);
  Error.stackTraceLimit = limit;
  assert.equal(asm.assemble().lines[0]?.file, SELF);
});

test('a format in plain JavaScript is named by its own lines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bpf-lines-'));
  try {
    const file = join(folder, 'my-format.mjs');
    const room = pathToFileURL(join(SELF, '..', 'index.ts')).href;
    writeFileSync(
      file,
      `import { BpfAssembler, r0 } from '${room}';\nconst asm = new BpfAssembler({ name: 'x', type: 'perf-event' });\n\nasm.move(r0, 1);\nasm.exit();\nconsole.log(JSON.stringify(asm.assemble().lines));\n`,
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source', file],
      { encoding: 'utf8' },
    );
    assert.equal(stderr, '');
    assert.deepEqual(JSON.parse(stdout), [
      { file, line: 4, column: 5 },
      { file, line: 5, column: 5 },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('in a bundle, a user is named by their own lines, and a format in the bundle by the place of its handler', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bpf-lines-'));
  try {
    const builtIn = 'export function handler(asm) {\n  asm.countInMap(MAP, 0);\n}\n';
    const room = JSON.stringify(join(SELF, '..', 'index.ts'));
    const map = "{ name: 'm', type: 'array', keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 1 }";
    await build({
      stdin: {
        contents: `export * from ${room};\nconst MAP = ${map};\n${builtIn}`,
        resolveDir: folder,
      },
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      minifySyntax: true,
      conditions: ['counterpoint-source'],
      external: ['koffi'],
      outfile: join(folder, 'package', 'dist', 'index.mjs'),
    });
    const file = join(folder, 'my-format.mjs');
    writeFileSync(
      file,
      `import { BpfAssembler, handler, r1, r2 } from './package/dist/index.mjs';
const make = () => new BpfAssembler({ name: 'x', type: 'perf-event' });
const own = make();
own.log2(r2, r1);
own.return(0);
const theirs = make();
setImmediate(handler, theirs);
setImmediate(() => {
  theirs.return(0);
  console.log(JSON.stringify([own, theirs].map((asm) => asm.assemble().lines)));
});
`,
    );
    symlinkSync(join(SELF, '../../../../../../../node_modules'), join(folder, 'node_modules'));
    const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    assert.equal(stderr, '');
    const [own, theirs] = JSON.parse(stdout) as [SourceLine[], SourceLine[]];
    assert.deepEqual(
      new Set(own.map((line) => `${line.file}:${line.line}`)),
      new Set([`${file}:4`, `${file}:5`]),
    );
    const bundled = readFileSync(theirs[0]!.file, 'utf8').split('\n')[theirs[0]!.line - 1];
    assert.match(bundled!, /^\s*asm\.countInMap\(MAP, 0\);$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
