// webpack makes one file of prettier and eslint, without a cache: `node webpack.cjs OUTPUT-FOLDER`.
const { createRequire } = require('node:module');
const { join } = require('node:path');

const packages = join(__dirname, '../../.programs');
const webpack = createRequire(join(packages, 'package.json'))('webpack');
const compiler = webpack({
  context: packages,
  entry: { eslint: 'eslint', express: 'express', fastify: 'fastify' },
  mode: 'production',
  target: 'node',
  cache: false,
  // terser has processes of its own.
  optimization: { minimize: false },
  output: { path: process.argv[2] },
});
compiler.run((error, stats) => {
  if (error) throw error;
  console.log(stats.toJson({ all: false, timings: true }).time);
});
