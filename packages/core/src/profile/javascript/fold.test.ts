import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foldingOf } from './fold.ts';

const FILES = [
  '/home/ada/express/server.js',
  '/home/ada/express/src/vendor/dates.js',
  'file:///home/ada/express/node_modules/express/lib/router.js',
  '/home/ada/express/node_modules/express/node_modules/debug/src/node.js',
  '/home/ada/express/node_modules/@babel/core/lib/parse.js',
  '/home/ada/express/node_modules/.pnpm/qs@6.1.0/node_modules/qs/lib/parse.js',
  'node_modules/tiny/index.ts',
  'node:fs',
];

function foldedBy(...names: string[]): string[] {
  const { isFolded, unused } = foldingOf(names, [], FILES);
  assert.deepEqual(unused, []);
  return FILES.filter(isFolded).map((file) => file.replace(/^.*\/home\/ada\/express\//, ''));
}

const unusedOf = (...names: string[]) => foldingOf(names, [], FILES).unused;

describe('folded places', () => {
  test('a package, and neither the application in a folder of that name nor what the package uses', () => {
    assert.deepEqual(foldedBy('express'), ['node_modules/express/lib/router.js']);
    assert.deepEqual(foldedBy('debug'), ['node_modules/express/node_modules/debug/src/node.js']);
    assert.deepEqual(foldedBy('@babel/core'), ['node_modules/@babel/core/lib/parse.js']);
    assert.deepEqual(foldedBy('qs', 'tiny'), [
      'node_modules/.pnpm/qs@6.1.0/node_modules/qs/lib/parse.js',
      'node_modules/tiny/index.ts',
    ]);
  });

  test('all packages, a scope, folders, and Node itself', () => {
    assert.deepEqual(foldedBy('node_modules'), [
      'node_modules/express/lib/router.js',
      'node_modules/express/node_modules/debug/src/node.js',
      'node_modules/@babel/core/lib/parse.js',
      'node_modules/.pnpm/qs@6.1.0/node_modules/qs/lib/parse.js',
      'node_modules/tiny/index.ts',
    ]);
    assert.deepEqual(foldedBy('@babel'), ['node_modules/@babel/core/lib/parse.js']);
    assert.deepEqual(foldedBy('src/vendor/'), ['src/vendor/dates.js']);
    assert.deepEqual(foldedBy('node'), ['node:fs']);
  });

  test('a name that fits nothing is told, with the packages that there are', () => {
    const packages = ['@babel/core', 'debug', 'express', 'qs', 'tiny'];
    assert.deepEqual(unusedOf('expres'), [{ name: 'expres', nearestPackage: 'express', packages }]);
    assert.deepEqual(unusedOf('lodash'), [{ name: 'lodash', nearestPackage: null, packages }]);
    const alone = foldingOf(['node_modules', 'koa'], ['node'], ['/app/a.js']);
    assert.deepEqual(
      alone.unused.map(({ name }) => name),
      ['node_modules', 'koa'],
    );
    assert.ok(alone.isFolded('node:fs'));
    assert.deepEqual(foldingOf(['koa'], [], []).unused, []);
  });
});
