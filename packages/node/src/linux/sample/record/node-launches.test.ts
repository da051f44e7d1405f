/**
 * Node is found behind every way in which people start it: the hot function of each has its name, and what
 * the program sees is as without a recording, but for what is said.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { examineMachine } from '../../kernel/probe/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { record } from './record.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-launches-'));
after(() => rmSync(folder, { recursive: true }));
const { canRecord } = examineMachine(realSys, 1);
const NODE = process.execPath;
const { NODE_OPTIONS: _, ...given } = process.env;
/** `node` is the one that runs this. */
const environment = { ...given, PATH: `${dirname(NODE)}:${given['PATH']}` };

const HOT = 'function hot(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }';
/** On a CPU, whatever others do. */
const RUN = 'const end = process.cpuUsage().user + 4e5; while (process.cpuUsage().user < end) hot(1e5);';

const write = (name: string, text: string, isProgram = false): string => {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (isProgram) chmodSync(path, 0o755);
  return path;
};

const app = write('app.js', `${HOT} ${RUN}`);
write(
  'package.json',
  JSON.stringify({ name: 'launches', version: '1.0.0', scripts: { hot: 'node app.js' } }),
);
const shebang = write('shebang', `#!/usr/bin/env node\n${HOT} ${RUN}`, true);
const later = write('later.sh', '#!/bin/bash\nx=$(true)\nsleep 0.05\nnode app.js\necho done', true);
const noFirstLine = write('no-first-line', 'node app.js', true);
write('node_modules/.bin/hot-tool', `#!/usr/bin/env node\n${HOT} ${RUN}`, true);
const worker = write('worker.js', `new (require('worker_threads').Worker)(require.resolve('./app.js'))`);
const fork = write('fork.js', `require('child_process').fork(require.resolve('./app.js'))`);
const spawned = write(
  'spawn.js',
  `require('child_process').spawn('node', [require.resolve('./app.js')], { stdio: 'inherit' })`,
);
const shellOf = write('exec.js', `require('child_process').execSync('node app.js', { cwd: __dirname })`);
const cluster = write(
  'cluster.js',
  `const cluster = require('cluster'); if (cluster.isPrimary) { cluster.fork(); cluster.fork(); cluster.on('exit', () => {}); } else { ${HOT} ${RUN} process.exit(); }`,
);
const appends = write(
  'appends.js',
  `const env = { ...process.env, NODE_OPTIONS: [process.env.NODE_OPTIONS, '--no-warnings'].join(' ') };
   require('child_process').spawnSync(process.execPath, ['app.js'], { cwd: __dirname, env, stdio: 'inherit' });`,
);
// As the shims of version managers are: a `node` in PATH that starts another.
const shims = join(folder, 'shims');
write('shims/node', `#!/bin/sh\nexec '${NODE}' "$@"\n`, true);
write('makefile', 'all:\n\t@node app.js\n');
mkdirSync(join(folder, 'other-name'));
symlinkSync(NODE, join(folder, 'other-name/engine'));

const isThere = (program: string): boolean =>
  (environment.PATH ?? '').split(':').some((directory) => existsSync(join(directory, program)));

interface Launch {
  command: string[];
  path?: string;
  needs?: string;
}

const launches: Record<string, Launch> = {
  'node app.js': { command: ['node', 'app.js'] },
  'node by its path': { command: [NODE, app] },
  'a link to node': { command: [join(folder, 'other-name/engine'), app] },
  'npm run': { command: ['npm', 'run', 'hot'], needs: 'npm' },
  npx: { command: ['npx', '--offline', 'hot-tool'], needs: 'npx' },
  "sh -c 'node app.js'": { command: ['sh', '-c', 'node app.js'] },
  "sh -c 'true && node'": { command: ['sh', '-c', `true && node ${app}; true`] },
  'env A=1 node': { command: ['env', 'A=1', 'node', 'app.js'] },
  'env -u B node': { command: ['env', '-u', 'B', 'node', 'app.js'] },
  'a script of Node': { command: [shebang] },
  'a script that starts Node later': { command: [later] },
  'a script without a first line': { command: ['sh', noFirstLine] },
  'nice, timeout': { command: ['nice', '-n', '1', 'timeout', '20', 'node', 'app.js'] },
  setsid: { command: ['setsid', '-w', 'node', 'app.js'], needs: 'setsid' },
  make: { command: ['make', 'all'], needs: 'make' },
  xargs: { command: ['sh', '-c', 'echo app.js | xargs node'], needs: 'xargs' },
  'a shim of a version manager': { command: ['node', 'app.js'], path: `${shims}:${environment.PATH}` },
  worker: { command: ['node', worker] },
  'child_process.fork': { command: ['node', fork] },
  'child_process.spawn': { command: ['node', spawned] },
  'child_process.execSync': { command: ['node', shellOf] },
  cluster: { command: ['node', cluster] },
  'a child with more in NODE_OPTIONS': { command: ['node', appends] },
  'a shell that adds to NODE_OPTIONS': {
    command: ['sh', '-c', 'NODE_OPTIONS="$NODE_OPTIONS --no-warnings" node app.js'],
  },
};

describe('the hot function has its name', { skip: !canRecord && 'nothing can be recorded here' }, () => {
  for (const [name, { command, path, needs }] of Object.entries(launches))
    test(name, { skip: needs !== undefined && !isThere(needs) && `there is no ${needs}` }, async () => {
      const output = join(folder, 'launch.data');
      const result = await record({
        command,
        events: 'cpu-clock:u',
        frequency: 1000,
        callGraph: true,
        output,
        launch: {
          cwd: folder,
          env: { ...environment, ...(path === undefined ? {} : { PATH: path }) },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      });
      assert.equal(result.exitCode, 0);
      await using recording = await openRecording(output);
      const { profile } = await recording.profile();
      let hot = 0;
      for (let row = 0; row < profile.samples.length; row++)
        if (javascriptStack(profile, profile.samples.stack.at(row)).at(-1) === 'hot') hot++;
      // Of 400 ms, with the start of Node.
      assert.ok(hot > 60, `${hot} of ${profile.samples.length} samples are of hot`);
      const told = result.notes.filter(({ kind }) => kind === 'node-names' || kind === 'nameless-code');
      assert.equal(told.length, 1, JSON.stringify(result.notes));
      assert.match(told[0]!.text, /NODE_OPTIONS has --perf-basic-prof/);
    });
});

/** Prints all that a program can see of how it was started, and its children and workers, too. */
const SEES = write(
  'sees.js',
  `const facts = () => ({ argv: process.argv, argv0: process.argv0, execArgv: process.execArgv,
     execPath: process.execPath, title: process.title, cwd: process.cwd(), env: process.env });
   const { Worker, isMainThread, parentPort } = require('worker_threads');
   if (!isMainThread) parentPort.postMessage(facts());
   else if (process.argv[2] === 'child') process.stdout.write(JSON.stringify(facts()));
   else {
     const { spawnSync } = require('child_process');
     const child = (env) => JSON.parse(spawnSync(process.execPath, [__filename, 'child'], { env, encoding: 'utf8' }).stdout);
     const all = { own: facts(), child: child(process.env), bare: child({ ONLY: 'this' }) };
     new Worker(__filename).on('message', (worker) =>
       require('fs').writeFileSync(process.argv[2], JSON.stringify({ ...all, worker })));
   }`,
);

describe('what the program sees', { skip: !canRecord && 'nothing can be recorded here' }, () => {
  const FLAGS = '--perf-basic-prof --interpreted-frames-native-stack';
  const out = join(folder, 'seen.json');
  const env = { ...environment, NODE_OPTIONS: '--no-warnings' };
  const alone = () => {
    assert.equal(spawnSync(NODE, [SEES, out], { cwd: folder, env }).status, 0);
    return JSON.parse(readFileSync(out, 'utf8'));
  };
  const recorded = async (options: { nodeNames?: false }) => {
    rmSync(out, { force: true });
    const output = join(folder, 'seen.data');
    const launch = { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] as const };
    await record({
      command: [NODE, SEES, out],
      events: 'cpu-clock:u',
      output,
      launch: { ...launch, stdio: [...launch.stdio] },
      ...options,
    });
    return JSON.parse(readFileSync(out, 'utf8'));
  };

  test('all stays as it is, but NODE_OPTIONS has two words more', async () => {
    const expected = alone();
    for (const who of ['own', 'child', 'worker']) expected[who].env.NODE_OPTIONS += ` ${FLAGS}`;
    assert.deepEqual(await recorded({}), expected);
  });

  test('with --no-node-names all stays as it is', async () => {
    assert.deepEqual(await recorded({ nodeNames: false }), alone());
  });

  test('what is no launcher, and does not name Node, keeps its environment', async () => {
    const output = join(folder, 'seen.data');
    const show = async (command: string[]) => {
      await record({
        command: [...command, out],
        events: 'cpu-clock:u',
        output,
        launch: { cwd: folder, env: environment, stdio: ['ignore', 'ignore', 'inherit'] },
      });
      return readFileSync(out, 'latin1').includes('NODE_OPTIONS');
    };
    assert.equal(await show(['cp', '/proc/self/environ']), false);
    assert.equal(await show(['sh', '-c', 'cp /proc/self/environ $0']), true);
  });
});
