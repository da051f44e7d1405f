import { libraryPath } from './ffi.ts';

/** What the holder becomes. */
export interface ExecOrder {
  program: string;
  /** `argv`, the name first. */
  words: readonly string[];
  env: NodeJS.ProcessEnv;
  ignoredSignals: readonly number[];
  /** Soft limit of open files; null leaves it. */
  descriptorLimit: number | null;
  /** Descriptors above 2 that it has. */
  descriptors: readonly number[];
  /** `LISTEN_PID` is to be its own number. */
  isListener: boolean;
}

/**
 * The program of the holder. It reads its order from its gate, a line, and then another line: go. The end
 * instead of either means: do not run. It prepares all that the order says before it waits, so that only the
 * exec comes after the word. Node ignores SIGPIPE and SIGXFSZ, and marks every descriptor that it inherits to
 * be closed by an exec: both is undone.
 */
const PROGRAM = `
const [libraryPath, name, gateText] = process.argv.slice(1);
const gate = Number(gateText);
const { closeSync, readSync, writeFileSync } = require('node:fs');
const { errno, signals } = require('node:os').constants;
const koffi = require(libraryPath);
const libc = koffi.load(null);
const execve = libc.func('int execve(const char *path, const char **argv, const char **envp)');
const signal = libc.func('intptr_t signal(int number, intptr_t handler)');
const setrlimit = libc.func('int setrlimit(int resource, const uint64_t *limits)');
const getrlimit = libc.func('int getrlimit(int resource, uint64_t *limits)');
const fcntl = libc.func('int fcntl(int fd, int command, ...)');
const RLIMIT_NOFILE = 7;
const F_SETFD = 2;
const pieces = [];
const hasLine = () => pieces.some((piece) => piece.includes(10));
while (!hasLine()) {
  const piece = Buffer.alloc(65536);
  const length = readSync(gate, piece);
  if (length === 0) process.exit(125);
  pieces.push(piece.subarray(0, length));
}
const text = Buffer.concat(pieces).toString('utf8');
const [line, rest] = [text.slice(0, text.indexOf('\\n')), text.slice(text.indexOf('\\n') + 1)];
const order = JSON.parse(line);
for (const fd of [0, 1, 2, ...order.descriptors]) fcntl(fd, F_SETFD, 'int', 0);
for (const number of [signals.SIGPIPE, signals.SIGXFSZ]) signal(number, 0);
for (const number of order.ignoredSignals) signal(number, 1);
if (order.descriptorLimit !== null) {
  const limits = new BigUint64Array(2);
  getrlimit(RLIMIT_NOFILE, limits);
  limits[0] = BigInt(order.descriptorLimit);
  setrlimit(RLIMIT_NOFILE, limits);
}
if (order.isListener)
  order.env = order.env.filter((entry) => !/^LISTEN_PID(FDID)?=/.test(entry)).concat('LISTEN_PID=' + process.pid);
try { writeFileSync('/proc/self/comm', name); } catch {}
if (rest === '' && readSync(gate, Buffer.alloc(1)) === 0) process.exit(125);
closeSync(gate);
execve(order.program, [...order.words, null], [...order.env, null]);
const failed = koffi.errno();
// A script without a first line that names its interpreter: the shell's, as execvp(3) does it.
if (failed === errno.ENOEXEC) execve('/bin/sh', ['/bin/sh', order.program, ...order.words.slice(1), null], [...order.env, null]);
const unsafe = /[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]/g;
const shown = order.words[0].replace(unsafe, (char) => '\\\\u' + char.charCodeAt(0).toString(16).padStart(4, '0'));
console.error(shown + ': ' + (Object.keys(errno).find((key) => errno[key] === failed) ?? failed));
process.exit(failed === errno.ENOENT ? 127 : 126);
`;

/**
 * A command line that waits and then becomes another program, in the same process, with exactly the
 * environment that it is told: what no shell can do with names such as `BASH_FUNC_f%%` or `a.b`. It
 * takes as long as Node to start.
 */
export function execHolder(name: string, gate: number): string[] {
  return [process.execPath, '-e', PROGRAM, libraryPath(), name, String(gate)];
}

/** The first line for the holder's descriptor 3. */
export function execOrder({ env, ...order }: ExecOrder): string {
  const entries = Object.entries(env).filter(([, value]) => value !== undefined);
  return `${JSON.stringify({ ...order, env: entries.map(([name, value]) => `${name}=${value}`) })}\n`;
}
