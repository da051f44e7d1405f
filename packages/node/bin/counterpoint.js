#!/usr/bin/env node
// Kept free of work: a bundle does everything, so that `--help` starts in tens of milliseconds.
import { existsSync } from 'node:fs';

const bundle = new URL('../dist/cli.js', import.meta.url);
if (existsSync(bundle)) {
  const { main } = await import(bundle);
  await main(process.argv.slice(2));
} else {
  console.error('counterpoint: this checkout is not built yet. Run `npm run build` in its root folder.');
  process.exitCode = 1;
}
