import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import type { CommRecord, ForkRecord, Mmap2Record, PerfRecord } from '@counterpoint/core/records';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { formatProblem } from './executable.ts';
import {
  CommandError,
  isNodeProgram,
  launchHeld,
  listThreads,
  parseCpuList,
  parseMappedAreas,
  parseModuleFiles,
  parseModules,
  processOfThread,
  readKernelMap,
  readProc,
  readTask,
  requireProcess,
  requireThread,
  resolveProgram,
  synthesizeKernel,
  synthesizeProcess,
  synthesizeThreads,
} from './index.ts';
import { waitForGate } from './wait-for-gate.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-target-'));
after(() => rmSync(directory, { recursive: true }));

function script(name: string, text: string, mode = 0o755): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

describe('resolveProgram', () => {
  const fails = (status: number, pattern: RegExp) => (error: unknown) => {
    assert.ok(error instanceof CommandError);
    assert.equal(error.exitStatus, status);
    assert.match(error.message, pattern);
    return true;
  };

  test('finds what exec would find, in the order of PATH', () => {
    const path = script('tool', '#!/bin/sh\n');
    assert.equal(resolveProgram('tool', { path: `/nonexistent:${directory}:/bin` }), path);
    assert.equal(resolveProgram('./tool', { path: '', cwd: directory }), path);
    assert.equal(resolveProgram('tool', { path: ':/bin', cwd: directory }), path, 'an empty entry is here');
    assert.match(resolveProgram('sh', {}), /^\/bin\/sh$|^\/usr\/bin\/sh$/);
  });

  test('says why not, with the status that a shell would give', () => {
    const plain = script('plain', 'text', 0o644);
    const path = directory;
    assert.throws(
      () => resolveProgram('no-such-tool', { path }),
      fails(127, /no-such-tool: command not found/),
    );
    assert.throws(() => resolveProgram('./none/x', { cwd: directory }), fails(127, /no such file/));
    assert.throws(() => resolveProgram('plain', { path }), fails(126, /not executable/));
    assert.throws(() => resolveProgram(plain, { path }), fails(126, /not executable/));
    assert.throws(() => resolveProgram(directory, { path }), fails(126, /a directory/));
    assert.throws(() => resolveProgram('', { path }), fails(127, /empty/));
    assert.throws(
      () => resolveProgram('plain', { path: '/nowhere', cwd: directory }),
      fails(127, /not found$/),
    );
    // A closed directory in PATH says nothing; a closed path that was asked for does.
    if (process.getuid?.() !== 0) {
      const closed = join(directory, 'closed');
      mkdirSync(closed, { mode: 0 });
      assert.throws(() => resolveProgram('tool', { path: closed }), fails(127, /command not found/));
      assert.throws(() => resolveProgram(join(closed, 'tool')), fails(126, /permission denied/));
    }
    script('here', '#!/bin/sh\n');
    assert.throws(() => resolveProgram('here', { path: '/nowhere', cwd: directory }), /\.\/here/);
  });
});

test('isNodeProgram: node itself, links to it, and scripts that name it', () => {
  assert.ok(isNodeProgram(process.execPath));
  symlinkSync(process.execPath, join(directory, 'my-runtime'));
  assert.ok(isNodeProgram(join(directory, 'my-runtime')));
  for (const line of [
    '#!/usr/bin/env node',
    '#!/usr/bin/env -S node --x',
    '#! /opt/bin/node20',
    '#!/usr/bin/nodejs',
  ])
    assert.ok(isNodeProgram(script('s', `${line}\n`)), line);
  for (const line of ['#!/usr/bin/env bash', '#!/usr/bin/nodemon', 'node', '#!', ''])
    assert.ok(!isNodeProgram(script('s', `${line}\n`)), line);
  assert.ok(!isNodeProgram('/bin/sh'));
  assert.ok(!isNodeProgram(join(directory, 'missing')));
});

describe('launchHeld', () => {
  const quiet = { stdio: ['ignore', 'ignore', 'ignore'] as ['ignore', 'ignore', 'ignore'] };

  test('waits until released, in the process that becomes the command', async () => {
    const out = join(directory, 'out');
    using held = launchHeld(
      [
        'sh',
        '-c',
        `echo $$ "$0" "$@" > ${out}; ls -l /proc/self/fd | grep -c socket >> ${out}; :`,
        'a b',
        'c',
      ],
      quiet,
    );
    held.waitUntilHeld();
    assert.match(readProc(`${held.pid}/stat`)!, new RegExp(`\\(${held.heldName}\\) S `));
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(readProc(`${held.pid}/comm`)?.trim(), held.heldName);
    assert.ok(!existsSync(out));
    held.release();
    assert.deepEqual(await held.exited, { code: 0, signal: null });
    // The gate (a socket) was closed.
    assert.equal(readFileSync(out, 'utf8'), `${held.pid} a b c\n0\n`);
  });

  test('gives the status of the command, and 128 + n for a signal', async () => {
    const one = launchHeld(['sh', '-c', 'exit 7'], quiet);
    one.release();
    assert.deepEqual(await one.exited, { code: 7, signal: null });
    const two = launchHeld(['sh', '-c', 'kill -SEGV $$'], quiet);
    two.release();
    assert.deepEqual(await two.exited, { code: 139, signal: 'SIGSEGV' });
    const three = launchHeld(['sleep', '10'], quiet);
    three.kill('SIGTERM');
    assert.equal((await three.exited).code, 143);
  });

  test('disposed before its release, it never runs the command', async () => {
    const out = join(directory, 'never');
    const held = launchHeld(['touch', out], quiet);
    held[Symbol.dispose]();
    assert.equal((await held.exited).code, 125);
    assert.ok(!existsSync(out));
  });

  for (const [what, env] of [
    [
      'an ordinary environment, with a PWD that is not true',
      { PATH: '/bin', PWD: '/nowhere', OLDPWD: '', SHLVL: '7' },
    ],
    ['nothing at all', {}],
    ['prompts and values of several lines', { PS1: '$ ', PS2: '', PS4: '+', text: 'a\nb\'c"$d\n' }],
    ['names that no shell keeps', { 'a.b': '1', 'x-y': '2', 'BASH_FUNC_f%%': '() { echo;\n}', '1': 'ä' }],
    [
      'variables of shells',
      { IFS: 'x', OPTIND: '5', PPID: '1', RANDOM: '2', SHELLOPTS: 'xtrace', BASH_ENV: '/x' },
    ],
  ] as const) {
    test(`the command has the environment that it was given: ${what}`, async () => {
      const out = join(directory, 'env');
      const fd = openSync(out, 'w');
      // Options for the command are none for what holds it.
      using held = launchHeld(['/usr/bin/env', '-0'], {
        env: { ...env, NODE_OPTIONS: '--bad' },
        stdio: ['ignore', fd, 2],
      });
      closeSync(fd);
      assert.equal(readProc(`${held.pid}/comm`) === null, false);
      held.release();
      assert.deepEqual(await held.exited, { code: 0, signal: null });
      const entries = Object.entries({ ...env, NODE_OPTIONS: '--bad' }).map(
        ([name, value]) => `${name}=${value}\0`,
      );
      assert.deepEqual(
        readFileSync(out, 'utf8')
          .split(/(?<=\0)/)
          .sort(),
        entries.sort(),
      );
    });
  }

  for (const odd of [false, true]) {
    test(`descriptors go to the command, and no others: held by ${odd ? 'Node' : 'a shell'}`, async () => {
      const out = join(directory, 'descriptors');
      const list = 'exec 1>"$0"; ls -l /proc/self/fd | sed -n "s/.* \\([0-9]* -> .*\\)/\\1/p"';
      const env = { ...process.env, ...(odd ? { 'a.b': '1' } : {}), MAKEFLAGS: '', LISTEN_PID: '' };
      const ours = openSync(script('handed', 'of ours'), 'r');
      const seen = async (given: Partial<Parameters<typeof launchHeld>[1]>) => {
        using held = launchHeld(['sh', '-c', list, out], { ...quiet, env, ...given });
        held.release();
        assert.equal((await held.exited).code, 0);
        return readFileSync(out, 'utf8')
          .split('\n')
          .filter((line) => line.includes('/handed'));
      };
      try {
        assert.deepEqual(await seen({}), []);
        assert.deepEqual(await seen({ descriptors: [ours] }), [`${ours} -> ${join(directory, 'handed')}`]);
        assert.throws(() => launchHeld(['true'], { ...quiet, descriptors: [4095] }), /open descriptors/);
        // Those that the environment names: of a service that has one socket or more.
        const listening = { ...env, LISTEN_PID: String(process.pid), LISTEN_FDS: String(ours - 2) };
        assert.deepEqual(await seen({ env: listening }), [`${ours} -> ${join(directory, 'handed')}`]);
        const pid = { ...listening, LISTEN_PID: String(process.pid + 1) };
        assert.deepEqual(await seen({ env: pid }), []);
      } finally {
        closeSync(ours);
      }
    });
  }

  test('held by Node, too, it waits, ends with the status of a shell, and never runs when disposed', async () => {
    const options = { ...quiet, env: { ...process.env, 'a.b': '1' } };
    const out = join(directory, 'odd');
    const command = [
      'sh',
      '-c',
      `echo $$ > ${out}; ls -l /proc/self/fd | grep -c -e socket -e anon_inode >> ${out}; exit 7`,
    ];
    // It waits for 2 s at most.
    await onTime(async () => {
      using held = launchHeld(command, options);
      held.waitUntilHeld();
      const stat = readProc(`${held.pid}/stat`)!;
      assertOnTime(stat.includes(`(${held.heldName}) S `), stat);
      assert.ok(!existsSync(out));
      held.release();
      assert.equal((await held.exited).code, 7);
      assert.equal(readFileSync(out, 'utf8'), `${held.pid}\n0\n`);
    });
    const never = launchHeld(['touch', join(directory, 'odd-never')], options);
    never[Symbol.dispose]();
    assert.equal((await never.exited).code, 125);
    assert.ok(!existsSync(join(directory, 'odd-never')));
    const plain = launchHeld([script('no-first-line', 'exit $1\n'), '9'], options);
    plain.release();
    assert.equal((await plain.exited).code, 9);
  });

  test('a Node that starts for long, and sleeps meanwhile, is not at its gate before it has its name', async () => {
    const program = `setTimeout(() => { process.title = 'at-its-gate'; }, 700); process.stdin.resume();`;
    await onTime(async () => {
      const node = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'ignore', 'inherit'] });
      try {
        waitForGate(node.pid!, 'at-its-gate', false);
        const name = readProc(`${node.pid}/comm`)!.trim();
        assertOnTime(name === 'at-its-gate', name);
      } finally {
        node.kill('SIGKILL');
        await once(node, 'exit');
      }
    });
  });

  test('a command that cannot run is refused before anything starts', () => {
    assert.throws(() => launchHeld(['no-such-command-here'], quiet), { exitStatus: 127 });
  });

  test('what only exec can know still ends with the status of a shell', async () => {
    const path = script('goes', '#!/bin/sh\n');
    const held = launchHeld([path], quiet);
    rmSync(path);
    held.release();
    assert.ok([126, 127].includes((await held.exited).code));
  });

  test('a directory that is not there is what is named', () => {
    const launch = (cwd: string) => () => launchHeld(['true'], { ...quiet, cwd });
    assert.throws(launch('/no/such'), {
      code: 'ERR_LAUNCH',
      message: /in the directory \/no\/such: it does not exist/,
    });
    assert.throws(launch(script('file', '')), { code: 'ERR_LAUNCH', message: /it is not a directory/ });
  });
});

describe('what exec would refuse', () => {
  const native = { arch: process.arch, runsOtherFormats: false };
  const binary = (name: string, change: (bytes: Buffer) => Buffer) => {
    const path = join(directory, name);
    writeFileSync(path, change(readFileSync('/bin/sh')), { mode: 0o755 });
    return path;
  };

  test('is known before: scripts by their interpreter', () => {
    assert.equal(formatProblem(script('ok', '#!/bin/sh -e\n'), native), null);
    assert.equal(formatProblem(script('space', '#! /bin/sh\n'), native), null);
    assert.equal(formatProblem(script('plain-text', 'echo\n\0'), native), null, 'for the shell');
    assert.equal(formatProblem(script('nothing', ''), native), null);
    assert.match(
      formatProblem(script('none', '#!/no/such -x\n'), native)!,
      /interpreter \/no\/such does not exist/,
    );
    assert.match(formatProblem(script('dir', '#!/tmp\n'), native)!, /interpreter \/tmp is not executable/);
    assert.match(formatProblem(script('crlf', '#!/bin/sh\r\n'), native)!, /carriage return/);
    assert.throws(() => resolveProgram(script('none', '#!/no/such\n')), {
      exitStatus: 126,
      message: /none: its interp/,
    });
  });

  test('is known before: files that are no program of this machine', {
    skip: !['x64', 'arm64'].includes(process.arch),
  }, () => {
    for (const path of ['/bin/sh', process.execPath]) assert.equal(formatProblem(path, native), null);
    const [x64, arm64] = ['x64', 'arm64'].map((arch) => formatProblem('/bin/sh', { ...native, arch }));
    assert.match((process.arch === 'x64' ? arm64 : x64)!, /another processor/);
    assert.equal(
      formatProblem('/bin/sh', { arch: 'riscv64', runsOtherFormats: false }),
      null,
      'not known there',
    );
    const cut = binary('cut', (bytes) => bytes.subarray(0, 20));
    assert.match(formatProblem(cut, native)!, /not a complete ELF program/);
    assert.equal(formatProblem(cut, { ...native, runsOtherFormats: true }), null);
    assert.match(formatProblem(script('zeros', '\0\x01\x02'), native)!, /exec format error/);
    const noLoader = binary('no-loader', (bytes) =>
      Buffer.from(bytes.toString('latin1').replace('/ld-linux', '/ld-nowhr'), 'latin1'),
    );
    if (readFileSync(noLoader).equals(readFileSync('/bin/sh'))) return;
    assert.match(formatProblem(noLoader, native)!, /its loader \/\S+ does not exist/);
    assert.equal(spawnSync(noLoader).error?.message.includes('ENOENT'), true, 'as the kernel says');
  });
});

describe('proc', () => {
  test('tasks of this process; nothing of one that is gone', () => {
    assert.ok(listThreads(process.pid).includes(process.pid));
    const task = readTask(process.pid, process.pid);
    assert.equal(task?.parentPid, process.ppid);
    assert.equal(task?.name, readProc('self/comm')?.trim());
    assert.equal(processOfThread(process.pid), process.pid);
    const gone = 2 ** 22 + 5;
    assert.deepEqual(listThreads(gone), []);
    assert.equal(readTask(gone, gone), null);
    assert.equal(processOfThread(gone), null);
    assert.throws(() => requireProcess(gone), {
      code: 'ERR_NO_PROCESS',
      message: `there is no process ${gone}`,
    });
    assert.throws(() => requireThread(gone), /there is no thread/);
  });

  test('a thread is not a process, and the error says whose it is', async () => {
    const worker = new Worker('setTimeout(() => {}, 200)', { eval: true });
    await once(worker, 'online');
    const thread = listThreads(process.pid).find((tid) => tid !== process.pid)!;
    assert.throws(() => requireProcess(thread), new RegExp(`thread of process ${process.pid}`));
    assert.equal(requireThread(thread), process.pid);
    await worker.terminate();
  });

  test('CPU lists', () => {
    assert.deepEqual(parseCpuList('0-3,8\n'), [0, 1, 2, 3, 8]);
    assert.deepEqual(parseCpuList('5'), [5]);
    assert.deepEqual(parseCpuList('\n'), []);
  });
});

test('maps: executable areas alone, with the names that perf gives', () => {
  const areas = parseMappedAreas(
    [
      '00400000-0b6f000 r--p 00000000 fe:00 260689                     /usr/bin/node',
      '00b6f000-00b71000 r-xp 0076f000 fe:00 260689                     /usr/bin/node',
      '7f00000000-7f00001000 rwxp 00000000 00:00 0 ',
      '7f00002000-7f00003000 r-xs 00002000 00:01 2057                     /memfd:a b (deleted)',
      '7ff6685d7000-7ff6685d9000 r-xp 00000000 00:00 0                          [vdso]',
      'ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]',
      '7f00004000-7f00005000 r-xp 00000000 fe:00 1                     /tmp/a\\012b',
      'nonsense --x',
      '',
    ].join('\n'),
  );
  assert.deepEqual(
    areas.map((area) => [area.start, area.length, area.protection, area.flags, area.path]),
    [
      [0xb6f000n, 0x2000n, 5, 2, '/usr/bin/node'],
      [0x7f00000000n, 0x1000n, 7, 2, '//anon'],
      [0x7f00002000n, 0x1000n, 5, 1, '/memfd:a b (deleted)'],
      [0x7ff6685d7000n, 0x2000n, 5, 2, '[vdso]'],
      [0xffffffffff600000n, 0x1000n, 4, 2, '[vsyscall]'],
      [0x7f00004000n, 0x1000n, 5, 2, '/tmp/a\nb'],
    ],
  );
  assert.deepEqual(
    [areas[0]!.major, areas[0]!.minor, areas[0]!.inode, areas[0]!.pageOffset],
    [0xfe, 0, 260689n, 0x76f000n],
  );
});

describe('kernel maps', () => {
  const symbols = [
    '0000000000000000 A fixed_percpu_data',
    'ffffffff81000000 T _stext',
    'ffffffff81000000 T _text',
    ...Array.from(
      { length: 5000 },
      (_, i) => `ffffffff81${i.toString(16).padStart(6, '0')} t some_function_${i}`,
    ),
    'ffffffff822090c8 T _etext',
    'ffffffffc0000000 t _text\t[module]',
    '',
  ].join('\n');

  test('from the kernel code in iomem, else from the symbols to the end of the text', () => {
    const kallsyms = script('kallsyms', symbols);
    const expected = {
      start: 0xffffffff81000000n,
      length: 0x12090c8n,
      anchorName: '_text',
      anchorAddress: 0xffffffff81000000n,
    };
    const iomem = script('iomem', '00000000-0000ffff : Reserved\n  01000000-022090c7 : Kernel code\n');
    assert.deepEqual(readKernelMap(kallsyms, iomem), expected);
    assert.deepEqual(
      readKernelMap(kallsyms, script('hidden', '  00000000-00000000 : Kernel code\n')),
      expected,
    );
    assert.deepEqual(readKernelMap(kallsyms, join(directory, 'missing')), expected);
  });

  test('null where addresses are hidden or there is nothing', () => {
    const hidden = script('hidden-symbols', symbols.replaceAll(/^[0-9a-f]{16}/gm, '0'.repeat(16)));
    assert.equal(readKernelMap(hidden, join(directory, 'missing')), null);
    assert.equal(readKernelMap(join(directory, 'missing')), null);
    assert.equal(readKernelMap(script('empty', '')), null);
  });

  test('modules by their files, or by name', () => {
    const files = parseModuleFiles(
      'kernel/drivers/net/dummy-net.ko.xz: kernel/x.ko\nkernel/y.ko:\n',
      '/lib/modules/6',
    );
    const text =
      'dummy_net 16384 0 - Live 0xffffffffc0a00000\nzed 4096 1 a,b Live 0xffffffffc0b00000 (OE)\nhid 1 0 - Live 0x0000000000000000\n';
    assert.deepEqual(parseModules(text, files), [
      {
        start: 0xffffffffc0a00000n,
        length: 16384n,
        path: '/lib/modules/6/kernel/drivers/net/dummy-net.ko.xz',
      },
      { start: 0xffffffffc0b00000n, length: 4096n, path: '[zed]' },
    ]);
    const records: PerfRecord[] = [];
    synthesizeKernel(
      { start: 1n, length: 2n, anchorName: '_stext', anchorAddress: 3n },
      parseModules(text, files),
      (record) => records.push(record),
    );
    assert.deepEqual(
      records.map((record) => 'path' in record && record.path),
      ['[kernel.kallsyms]_stext', '/lib/modules/6/kernel/drivers/net/dummy-net.ko.xz', '[zed]'],
    );
  });
});

describe('synthesize', () => {
  test('a process: fork and name of each thread, and its executable maps once', async () => {
    const worker = new Worker('setTimeout(() => {}, 200)', { eval: true });
    await once(worker, 'online');
    const records: PerfRecord[] = [];
    synthesizeProcess(process.pid, (record) => records.push(record));
    const of = <T extends PerfRecord>(type: number) =>
      records.filter((record) => record.type === type) as T[];
    const forks = of<ForkRecord>(PERF_RECORD_FORK);
    assert.deepEqual([forks[0]!.pid, forks[0]!.ppid], [process.pid, process.ppid]);
    assert.ok(forks.length > 1 && forks.slice(1).every((fork) => fork.ptid === process.pid));
    assert.equal(of<CommRecord>(PERF_RECORD_COMM).length, forks.length);
    const maps = of<Mmap2Record>(PERF_RECORD_MMAP2);
    assert.ok(maps.some((map) => map.path === realpathSync(process.execPath) && map.inode !== 0n));
    assert.ok(maps.every((map) => (map.protection & 4) !== 0));
    await worker.terminate();
  });

  test('threads: the names asked for and the process, maps of the process', () => {
    const records: PerfRecord[] = [];
    synthesizeThreads(process.pid, [process.pid], (record) => records.push(record));
    assert.equal(records.filter((record) => record.type === PERF_RECORD_COMM).length, 1);
    assert.ok(records.some((record) => record.type === PERF_RECORD_MMAP2));
    synthesizeProcess(2 ** 22 + 5, () => assert.fail('a process that is gone gives nothing'));
  });
});
