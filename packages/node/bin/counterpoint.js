#!/usr/bin/env node
// Kept free of work: the bundle does everything.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const start = new URL('../dist/start.cjs', import.meta.url);
const bundle = new URL('../dist/cli.js', import.meta.url);
if (existsSync(start)) {
  createRequire(import.meta.url)(fileURLToPath(start));
} else if (existsSync(bundle)) {
  const { main } = await import(bundle);
  await main(process.argv.slice(2));
} else {
  console.error('counterpoint: this checkout is not built yet. Run `npm run build` in its root folder.');
  process.exitCode = 1;
}
