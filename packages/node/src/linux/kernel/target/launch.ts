import { type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type Check,
  checkOptions,
  listOf,
  OBJECT,
  type OptionsOf,
  type OptionTable,
  required,
  TEXT,
} from '../../../host/options/index.ts';
import { execHolder, execOrder, realSys, requireLinux } from '../sys/index.ts';
import { handedDescriptors, isListenerOf, isOpen } from './handed-descriptors.ts';
import { type Inherited, inherited } from './inherited.ts';
import { resolveProgram, workingDirectory } from './program.ts';
import { waitForGate } from './wait-for-gate.ts';

/**
 * How a command ended. `code` is what a shell would show: its exit status, or 128
 * and the number of the signal.
 */
export interface ExitStatus {
  /** The exit status as a shell shows it: 128 + N after the signal N. */
  code: number;
  /** The signal that ended it; null: it ended by itself. */
  signal: NodeJS.Signals | null;
}

/** A process that exists, waits, and becomes the command when it is released. */
export interface HeldCommand extends Disposable {
  /** The process. It has this number before and after its exec. */
  readonly pid: number;
  /** The file that will run. */
  readonly program: string;
  /** Name of the process until it runs the command. */
  readonly heldName: string;
  /** Settled when the process has ended. */
  readonly exited: Promise<ExitStatus>;
  /** When it was seen to have ended, on CLOCK_MONOTONIC. */
  readonly exitedAtNs: bigint | null;
  /**
   * Wait, blocking this thread, until it stands at its gate: releasing before that
   * works, and its own start follows.
   */
  waitUntilHeld(): void;
  /** Lets the command run. Releasing twice does nothing. */
  release(): void;
  /** Sends a signal to the process. It does nothing once the process has ended. */
  kill(signal: NodeJS.Signals): void;
  /** Do not keep this process waiting for it. */
  abandon(): void;
}

/** The reason of a signal that ends a recording without its command, which is left to itself. */
export const LEAVE_COMMAND: unique symbol = /* @__PURE__ */ Symbol('the command is left to itself');

/** Options of `launchHeld()`. */
export interface LaunchOptions {
  /** Its environment. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Its working directory. Default: that of this process. */
  cwd?: string;
  /** Standard input, output and error of the command; the user's own by default. */
  stdio?: ['inherit' | 'ignore' | number, 'inherit' | 'ignore' | number, 'inherit' | 'ignore' | number];
  /**
   * Open descriptors above 2 that it gets, under the same numbers. Default: those that this process was given
   * and that the environment names (a jobserver in `MAKEFLAGS`, `LISTEN_FDS`), or that no exec closes.
   */
  descriptors?: readonly number[];
}

/** Also those of `record` and `countRun`. */
export const COMMAND: Check = listOf(TEXT, "a list of words, such as ['node', 'app.js']");
export const LAUNCH_OPTIONS: OptionsOf<LaunchOptions> = {
  env: OBJECT,
  cwd: TEXT,
  stdio: {
    expects: "a list of three values, each 'inherit', 'ignore' or the number of a descriptor",
    accepts: (value) =>
      Array.isArray(value) &&
      value.length === 3 &&
      value.every((stream) => stream === 'inherit' || stream === 'ignore' || Number.isSafeInteger(stream)),
  },
  descriptors: listOf(
    {
      expects: 'the number of an open descriptor, 3 or more',
      accepts: (value) => Number.isSafeInteger(value) && (value as number) > 2 && isOpen(value as number),
    },
    'a list of numbers of open descriptors, 3 or more',
  ),
};
const ARGUMENTS: OptionTable = { command: required(COMMAND) };

const HELD_NAME = 'counterpoint';

/** Shells know descriptors of one digit only. */
const LAST_GATE_OF_SHELL = 9;

/** The number of the holder's gate: the lowest that is none of the command's. */
function gateBeside(descriptors: readonly number[]): number {
  let gate = 3;
  while (descriptors.includes(gate)) gate++;
  return gate;
}

/**
 * The shell waits for a second line on its gate (descriptor 3, if the command has none of that number), and
 * then `exec` turns it into the command, in the same process:
 *
 *   spawn ──> sh: read (held) ── events are opened on its pid ── release ──> exec command, which enables them
 *
 * Node has no gap between fork and exec, and forking this many-threaded process through FFI would be unsafe,
 * so a program has to do the waiting; every Linux that has perf events has a shell. The events start with
 * `enable_on_exec`, so nothing of the shell is counted; its start may last longer than opening them, so who
 * takes the time waits for it to be at its gate (`waitUntilHeld`). End of file instead of a line means: do
 * not run. The first line comes at once: what Node does for the first time takes long, and writing is not to
 * be that when the command's time has begun.
 */
const holdAt = (gate: number): string[] => [
  // The name that samples in the middle of the exec show, and not an `sh` that nobody started.
  `{ printf %s ${HELD_NAME} >/proc/$$/comm; } 2>/dev/null`,
  `read -r counterpoint_go <&${gate} && read -r counterpoint_go <&${gate} || exit 125`,
  `exec "$@" ${gate}<&-`,
];

/** Variables that some shell sets or changes, and that can be set back. */
const SET_BACK = ['PWD', 'OLDPWD', 'SHLVL', 'PS1', 'PS2', 'PS4'] as const;
const SHELL_NAME = /^[A-Za-z_]\w*$/;
/** Variables that belong to some shell: it gives them another value, and does not let go of it. */
const SHELLS_OWN =
  /^(IFS|OPTIND|OPTERR|OPTARG|PPID|U?ID|EUID|GROUPS|LINENO|RANDOM|SRANDOM|SECONDS|EPOCH\w+|HIST\w+|FUNC\w+|SHELLOPTS|BASH\w*)$/;

/**
 * Whether a shell hands all of `env` on to what it runs. None does that with names that are no identifiers.
 */
function isKeptByShell(env: NodeJS.ProcessEnv): boolean {
  return Object.keys(env).every((name) => SHELL_NAME.test(name) && !SHELLS_OWN.test(name));
}

/**
 * What the command inherits that spawning resets or a shell changes. The values are
 * arguments: no quoting, no limits.
 */
function shellHolder(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  inherit: Inherited,
  gate: number,
): string[] {
  const script: string[] = [];
  const values: string[] = [];
  for (const name of SET_BACK) {
    const value = env[name];
    if (value === undefined) script.push(`unset ${name}`);
    else script.push(`${name}=$${values.push(value)} && export ${name}`);
  }
  // Who was given sockets to listen on is known by its number.
  if (isListenerOf(env)) script.push('LISTEN_PID=$$ && export LISTEN_PID', 'unset LISTEN_PIDFDID');
  if (values.length > 0) script.push(`shift ${values.length}`);
  const { ignoredSignals, descriptorLimit } = inherit;
  if (ignoredSignals.length > 0) script.push(`trap '' ${ignoredSignals.join(' ')}`);
  if (descriptorLimit !== null) script.push(`ulimit -S -n ${descriptorLimit}`);
  return ['/bin/sh', '-c', [...script, ...holdAt(gate)].join('\n'), HELD_NAME, ...values, ...words];
}

/** What the holder has open: the command's standard streams and descriptors, and the gate. */
function stdioOf(
  streams: LaunchOptions['stdio'] = ['inherit', 'inherit', 'inherit'],
  descriptors: readonly number[],
  gate: number,
): StdioOptions {
  const stdio: NonNullable<Exclude<StdioOptions, string>> = [...streams];
  for (let fd = stdio.length; fd <= Math.max(gate, ...descriptors); fd++) stdio.push('ignore');
  for (const fd of descriptors) stdio[fd] = fd;
  stdio[gate] = 'pipe';
  return stdio;
}

/**
 * Start a process that waits, and becomes `command` when it is released. Throws CounterpointError before
 * anything is started if the command cannot run (`ERR_COMMAND_NOT_FOUND`, `ERR_COMMAND_NOT_EXECUTABLE`).
 */
export function launchHeld(command: readonly string[], options: LaunchOptions = {}): HeldCommand {
  requireLinux('launchHeld()');
  checkOptions('launchHeld()', { command }, ARGUMENTS);
  checkOptions('launchHeld()', options, LAUNCH_OPTIONS);
  const env = options.env ?? process.env;
  const cwd = options.cwd ?? workingDirectory();
  const name = command[0] ?? '';
  const program = resolveProgram(name, { path: env['PATH'], cwd });
  const inherit = inherited();
  // The shell's `exec` would take a leading dash for an option.
  const words = name.startsWith('-') ? [program, ...command.slice(1)] : [...command];
  const descriptors = options.descriptors ?? handedDescriptors(env);
  const gateFd = gateBeside(descriptors);
  const stdio = stdioOf(options.stdio, descriptors, gateFd);
  const isPlain = isKeptByShell(env) && gateFd <= LAST_GATE_OF_SHELL;
  // The command is to have the rights that it would have without us.
  if (inherit.hasRaisedRights) realSys.clearAmbientCapabilities();
  const [holder, ...holderWords] = isPlain
    ? shellHolder(words, env, inherit, gateFd)
    : execHolder(HELD_NAME, gateFd);
  // The holder that is Node has the command's environment in its order; its own is ours,
  // without options for the command.
  const holderEnv = isPlain ? env : { ...process.env, NODE_OPTIONS: undefined };
  const child = spawn(holder!, holderWords, { stdio, env: holderEnv, cwd });
  if (child.pid === undefined) {
    child.on('error', () => {});
    throw new CounterpointError(
      'ERR_LAUNCH',
      `cannot start ${holder}, which holds the command until the events are open`,
      'Start the program yourself and record it with -p PID.',
    );
  }
  const { pid } = child;
  const gate = (child.stdio as readonly unknown[])[gateFd] as Writable;
  gate.on('error', () => {});
  const isListener = isListenerOf(env);
  gate.write(isPlain ? '\n' : execOrder({ program, words, env, ...inherit, descriptors, isListener }));
  let exitedAtNs: bigint | null = null;
  const exited = new Promise<ExitStatus>((resolve) => {
    child.on('exit', (code, signal) => {
      exitedAtNs = process.hrtime.bigint();
      gate.destroy();
      resolve({ code: signal === null ? code! : 128 + constants.signals[signal], signal });
    });
  });
  return {
    pid,
    program,
    heldName: HELD_NAME,
    exited,
    get exitedAtNs() {
      return exitedAtNs;
    },
    waitUntilHeld: () => waitForGate(pid, HELD_NAME, isPlain),
    release: () => {
      gate.write('\n');
      // Later: while it becomes the command, this thread should leave it the CPU.
      setImmediate(() => gate.end());
    },
    kill: (signal) => void child.kill(signal),
    abandon: () => child.unref(),
    [Symbol.dispose]: () => gate.destroy(),
  };
}
