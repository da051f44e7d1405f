import { basename } from 'node:path';
import { isElfProgram } from './executable.ts';
import { isNodeProgram, scriptInterpreter } from './program.ts';

/** Programs whose work is to run others. */
const LAUNCHERS: ReadonlySet<string> = new Set([
  // Shells.
  ...['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'fish', 'busybox', 'ash', 'rbash', 'nu', 'pwsh'],
  // What runs a command in another way.
  ...['env', 'nice', 'ionice', 'timeout', 'time', 'nohup', 'setsid', 'setpriv', 'stdbuf', 'script', 'watch'],
  ...['taskset', 'numactl', 'chrt', 'prlimit', 'setarch', 'chroot', 'unshare', 'nsenter', 'bwrap', 'flock'],
  ...[
    'sudo',
    'doas',
    'su',
    'runuser',
    'gosu',
    'su-exec',
    'capsh',
    'systemd-run',
    'dbus-run-session',
    'direnv',
  ],
  ...['xargs', 'parallel', 'find', 'entr', 'watchexec', 'hyperfine', 'tini', 'dumb-init', 'catatonit'],
  // What builds and tests.
  ...['make', 'gmake', 'ninja', 'cmake', 'ctest', 'meson', 'bazel', 'bazelisk', 'buck2', 'just', 'task'],
  // Of Node's own world. Some of them are programs of their own.
  ...['npm', 'npx', 'pnpm', 'pnpx', 'pn', 'pnx', 'yarn', 'yarnpkg', 'corepack', 'bun', 'bunx', 'deno'],
  ...['fnm', 'volta', 'mise', 'asdf', 'nodenv', 'proto', 'turbo', 'nx', 'moon'],
]);
/** A word, or a word in the text of a shell, that is one of Node's world; or a file that Node runs. */
const NODE_WORD =
  /(?:^|[\s/=;&|("'`])(?:node(?:js)?|npm|npx|pnpm|pnpx|yarn|tsx|ts-node|deno)(?:[\s;&|)"'`]|$)|\.[cm]?[jt]s$/;

/**
 * Whether Node may run somewhere below a command: it is Node, or its work is to run others, or its words
 * name Node. What starts one all the same is met while it runs.
 */
export function mayStartNode(program: string, command: readonly string[]): boolean {
  if (isNodeProgram(program)) return true;
  // A text without a first line that says whose: the shell runs it.
  const runner = isElfProgram(program) ? program : (scriptInterpreter(program) ?? 'sh');
  return LAUNCHERS.has(basename(runner)) || LAUNCHERS.has(basename(program)) || namesNode(command.slice(1));
}

/** Deno takes V8's flags by a variable of its own. */
export function mayStartDeno(program: string, command: readonly string[]): boolean {
  return basename(program) === 'deno' || command.some((word) => /\bdeno\b/.test(word));
}

function namesNode(words: readonly string[]): boolean {
  return words.some((word) => NODE_WORD.test(word));
}
