/** How esbuild reads the sources of a run of tests. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

/** The command line as a program: an entry without a file. */
export const COMMAND_ENTRY = 'command-line-of-tests';
const COMMAND = "import { main } from './packages/node/src/cli/main.ts'; await main(process.argv.slice(2));";
/** Of the product, what looks for its own files. Its tests look for those beside their sources. */
const PRODUCT = /\/packages\/node\/src\/(?!(?:.*\/)?test\/)(?!.*\.(?:test|fuzz|pmu)\.ts$)/;

export const commandLine: Plugin = {
  name: 'command-line',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^${COMMAND_ENTRY}$`) }, ({ path }) => ({
      path,
      namespace: 'command-line',
    }));
    onLoad({ filter: /./, namespace: 'command-line' }, () => ({
      contents: COMMAND,
      resolveDir: process.cwd(),
    }));
  },
};

/** What npm installs stays where it is. */
export const ownPackagesOnly: Plugin = {
  name: 'own-packages-only',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || /^(?:@counterpoint\/|counterpoint(?:$|\/))/.test(path)
        ? undefined
        : { external: true },
    );
  },
};

/**
 * `import.meta` of a test is that of its source; of the product, that of a file in the `dist` of this run.
 */
export function placesOf(folder: string): Plugin {
  const product = JSON.stringify(pathToFileURL(join(folder, 'dist/index.js')).href);
  return {
    name: 'places',
    setup({ onLoad }) {
      onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        const loader = path.endsWith('ts') ? 'ts' : 'js';
        if (PRODUCT.test(path)) return { contents: text.replaceAll('import.meta.url', product), loader };
        const url = JSON.stringify(pathToFileURL(path).href);
        const contents = text
          .replaceAll('import.meta.url', url)
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
          .replaceAll(
            'import.meta.resolve(',
            `((name) => name.startsWith(".") ? new URL(name, ${url}).href : import.meta.resolve(name))(`,
          );
        return { contents, loader };
      });
    },
  };
}
