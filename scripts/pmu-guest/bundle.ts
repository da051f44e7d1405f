import { copyFileSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { ROOT } from './paths.ts';

const common = {
  absWorkingDir: ROOT,
  bundle: true,
  format: 'esm',
  target: 'node20',
  platform: 'node',
  // The guest reads and compiles every byte 15 times slower than the host.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'silent',
  conditions: ['counterpoint-source'],
  external: ['koffi'],
} satisfies BuildOptions;

/**
 * The command line of this checkout, as the guest's `counterpoint`. A checkout that
 * cannot be bundled runs the rest.
 */
export async function bundleCommandLine(toolsFolder: string): Promise<void> {
  for (const name of ['bin', 'dist']) mkdirSync(join(toolsFolder, name), { recursive: true });
  try {
    await buildCommandLine(toolsFolder);
  } catch (cause) {
    console.error(`The guest has no \`counterpoint\`: ${(cause as Error).message}`);
  }
}

async function buildCommandLine(toolsFolder: string): Promise<void> {
  for (const name of ['counterpoint', 'counterpoint.js']) {
    copyFileSync(join(ROOT, 'packages/node/bin', name), join(toolsFolder, 'bin', name));
  }
  // Its version.
  copyFileSync(join(ROOT, 'packages/node/package.json'), join(toolsFolder, 'package.json'));
  await build({
    ...common,
    splitting: true,
    entryPoints: [{ in: 'packages/node/src/cli/main.ts', out: 'cli' }],
    chunkNames: 'chunks/[name]-[hash]',
    outdir: join(toolsFolder, 'dist'),
  });
}

/** A test file as one module in `folder`; resolves to its name there. */
export async function bundleTest(path: string, folder: string): Promise<string> {
  const name = basename(path).replace(/\.ts$/, '.mjs');
  await build({ ...common, entryPoints: [path], outfile: join(folder, name) });
  return name;
}
