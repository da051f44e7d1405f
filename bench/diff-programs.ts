/** Programs for `bench diff`: what is on a machine with Node and a compiler, none of it ours. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAMS_FOLDER } from '../scripts/other-programs.ts';

export interface DiffProgram {
  readonly name: string;
  /** Takes one to two seconds. */
  readonly command: readonly string[];
}

/** The last TypeScript that is written in JavaScript comes with a tool of ours. */
const TYPESCRIPT = fileURLToPath(
  new URL('../node_modules/@microsoft/api-extractor/node_modules/typescript/lib', import.meta.url),
);

const PARSE = `
import ast, glob, sysconfig
for path in sorted(glob.glob(sysconfig.get_path('stdlib') + '/*.py'))[:25]:
    with open(path, encoding='utf8') as file:
        ast.dump(ast.parse(file.read()))
`;

/** Equal runs of these are compared. `npm run programs` brings one more. */
export function equalPrograms(folder: string): DiffProgram[] {
  const text = readFileSync(join(TYPESCRIPT, 'typescript.js'), 'utf8');
  const source = join(folder, 'source.js');
  writeFileSync(source, text);
  const lines = join(folder, 'lines.txt');
  writeFileSync(lines, text.split(/\W+/).join('\n'));
  const checked = join(folder, 'checked.ts');
  writeFileSync(
    checked,
    'export const names: string[] = Object.keys(globalThis).map((name) => name.trim());\n',
  );
  const prettier = join(PROGRAMS_FOLDER, 'node_modules/prettier/bin/prettier.cjs');
  const programs = [
    {
      name: 'tsc',
      command: [
        process.execPath,
        join(TYPESCRIPT, 'tsc.js'),
        '--ignoreConfig',
        '--noEmit',
        '--lib',
        'esnext',
        checked,
      ],
    },
    { name: 'gzip', command: ['gzip', '-9', '-k', '-c', source] },
    { name: 'xz', command: ['xz', '-2', '-k', '-c', source] },
    { name: 'sort', command: ['sort', lines] },
    { name: 'python3', command: ['python3', '-c', PARSE] },
  ];
  const scripts = join(PROGRAMS_FOLDER, 'node_modules/webpack/lib/dependencies/*.js');
  if (existsSync(prettier))
    programs.push({
      name: 'prettier',
      command: [process.execPath, prettier, '--with-node-modules', '--check', '--no-config', scripts],
    });
  return programs;
}

const WORK = `
#define WORK(name, step) __attribute__((noinline)) long name(long n) { long t = 1; while (n--) t = t * 3 + n / step; return t; }
WORK(parse, 5) WORK(resolve, 7) WORK(emit, 11)
int main() {
  long t = 0;
  for (int i = 0; i < 500; i++) t ^= parse(350000 * FACTOR + i) + resolve(400000 + i) + emit(350000 + i);
  return t & 1;
}
`;

const SCRIPT = `'use strict';
function parse(n) { let t = 0; for (let i = 0; i < n; i++) t = (t * 31 + i) | 0; return t; }
function resolve(n) { let t = 1; for (let i = 0; i < n; i++) t = (t * 33 ^ i) | 0; return t; }
function emit(n) { let t = 2; for (let i = 0; i < n; i++) t = (t * 35 + (i >> 1)) | 0; return t; }
const factor = Number(process.argv[2]);
for (let round = 0; round < 250; round++) { parse(1.2e6 * factor); resolve(1.4e6); emit(1.2e6); }
`;

/** A program whose function `parse`, a third of it, takes so many times as long. */
export interface ChangedProgram {
  readonly name: string;
  command(factor: number): readonly string[];
}

export function changedPrograms(folder: string): ChangedProgram[] {
  const script = join(folder, 'work.js');
  writeFileSync(script, SCRIPT);
  const source = join(folder, 'work.c');
  writeFileSync(source, WORK);
  return [
    {
      name: 'a C program',
      command: (factor) => {
        const folderOf = join(folder, `factor-${factor}`);
        const program = join(folderOf, 'work');
        spawnSync('mkdir', ['-p', folderOf]);
        // The same name in each: binaries are compared by it.
        const { status, stderr } = spawnSync('gcc', [
          '-O2',
          '-g',
          `-DFACTOR=${factor}`,
          source,
          '-o',
          program,
        ]);
        if (status !== 0) throw new Error(`gcc: ${stderr}`);
        return [program];
      },
    },
    { name: 'a Node program', command: (factor) => [process.execPath, script, String(factor)] },
  ];
}
