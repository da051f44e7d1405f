#!/usr/bin/env node
// Kept free of work: a bundle does everything, so that `--help` starts in tens of milliseconds.
import('../dist/cli.js').catch((error) => {
  if (error?.code === 'ERR_MODULE_NOT_FOUND') {
    console.error('counterpoint: this checkout is not built yet. Run `npm run build` in its root folder.');
  } else {
    console.error(error);
  }
  process.exitCode = 1;
});
