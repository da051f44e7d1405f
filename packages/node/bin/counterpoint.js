#!/usr/bin/env node
// Kept free of work: a bundle does everything, so that `--help` starts in tens of milliseconds.
import { existsSync } from 'node:fs';

const bundle = new URL('../dist/cli.js', import.meta.url);
if (existsSync(bundle)) {
  try {
    const { main } = await import(bundle);
    await main(process.argv.slice(2));
  } catch (error) {
    if (error?.code !== 'EMFILE') throw error;
    // The bundle tells it of what it loads later.
    console.error('counterpoint: this process may open too few files at a time to load the program');
    console.error('  Raise the limit of open files: ulimit -n 1024 (or LimitNOFILE= of a service).');
    process.exitCode = 1;
  }
} else {
  console.error('counterpoint: this checkout is not built yet. Run `npm run build` in its root folder.');
  process.exitCode = 1;
}
