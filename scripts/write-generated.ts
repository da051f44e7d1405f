import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a generated file, formatted; with `--check` it compares, and fails with what to do. */
export function writeGenerated(path: string, text: string, source: string): void {
  const formatted = spawnSync('node_modules/.bin/biome', ['check', '--write', `--stdin-file-path=${path}`], {
    input: text,
    encoding: 'utf8',
  });
  if (formatted.status !== 0) throw new Error(formatted.stderr);
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, formatted.stdout);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== formatted.stdout) {
    console.error(`${path} is not what ${source}`);
    process.exit(1);
  }
}
