import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './perf.ts';

/** A freestanding static program: it executes what stands in `text`, from `_start` on, and nothing else. */
export function assembledProgram(t: TestContext, text: string): string {
  const folder = temporaryFolder(t);
  const [source, program] = [join(folder, 'program.S'), join(folder, 'program')];
  writeFileSync(source, text);
  const { status, stderr } = spawnSync('gcc', ['-nostdlib', '-static', '-o', program, source], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return program;
}

/** A program of C, linked with its library and with threads. */
export function compiledProgram(t: TestContext, text: string): string {
  const folder = temporaryFolder(t);
  const [source, program] = [join(folder, 'program.c'), join(folder, 'program')];
  writeFileSync(source, text);
  const { status, stderr } = spawnSync('gcc', ['-O1', '-pthread', '-o', program, source], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return program;
}

/** A reason to skip, or false. */
export const noAssembler: string | false =
  process.arch === 'x64' && spawnSync('gcc', ['--version']).status === 0 ? false : 'no gcc, or not x86-64';

export const EXIT_0 = 'mov $60,%eax\n xor %edi,%edi\n syscall\n';
