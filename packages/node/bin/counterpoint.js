#!/usr/bin/env node
// Kept free of work: a bundle does everything, so that `--help` starts in tens of milliseconds.
import { existsSync } from 'node:fs';

const bundle = new URL('../dist/cli.js', import.meta.url);
if (existsSync(bundle)) {
  // Node opens all files of a program at once. Where there are too few descriptors, several of them fail: the first is an error that
  // is caught and told, by us or by the bundle. The others would be a stack each, and kill the process in the middle of a sentence.
  const tell = () => {
    console.error('counterpoint: this process may open too few files at a time to load the program');
    console.error('  Raise the limit of open files: ulimit -n 1024 (or LimitNOFILE= of a service).');
    process.exitCode = 1;
  };
  let hasFailed = false;
  process.on('unhandledRejection', (error) => {
    if (error?.code !== 'EMFILE') throw error;
    hasFailed = true;
  });
  process.on('exit', (code) => {
    if (hasFailed && code === 0) tell();
  });
  try {
    const { main } = await import(bundle);
    await main(process.argv.slice(2));
  } catch (error) {
    if (error?.code !== 'EMFILE') throw error;
    tell();
  }
} else {
  console.error('counterpoint: this checkout is not built yet. Run `npm run build` in its root folder.');
  process.exitCode = 1;
}
