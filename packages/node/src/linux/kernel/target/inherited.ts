import { closeSync, fstatSync, readSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * What a command should have from who started us, and what the way here takes away:
 *
 *   user's shell ──> bin/counterpoint (a shell) ──> node ──> a shell that holds ──> command
 *                    drops odd variables            resets ignored signals,
 *                                                   raises the limit of open files,
 *                                                   marks all descriptors to be closed
 */
export interface Inherited {
  /** Numbers of the signals that are ignored: those that `nohup` and a shell's `&` ignore. */
  readonly ignoredSignals: readonly number[];
  /** Soft limit of open files; null where it is not known, or there is none. */
  readonly descriptorLimit: number | null;
  /** Numbers of the descriptors above 2 that were handed to us: a jobserver's, `<(...)`, `LISTEN_FDS`. */
  readonly descriptors: readonly number[];
  /** The launcher gave this process rights that what it starts shall not have. */
  readonly hasRaisedRights: boolean;
}

let current: Inherited = {
  ignoredSignals: [],
  descriptorLimit: null,
  descriptors: [],
  hasRaisedRights: false,
};

export function inherited(): Inherited {
  return current;
}

/**
 * The variable in which `bin/counterpoint` says it: `PID LIMIT SIGNALS DESCRIPTORS FILE raised`; FILE
 * is the descriptor of an open file.
 */
const VARIABLE = 'COUNTERPOINT_LAUNCHER';
const MESSAGE = /^(\d+) (\d+|unlimited|-) ([0-9a-f]+|-) ([\d,]+|-) (\d)?( raised)?$/;
/** These would end this process; it ignores them, too, where it was started so. */
const TERMINAL_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/**
 * Take over what the launcher says, and give this process the environment and the signals
 * that it would have without it.
 */
export function takeOverFromLauncher(): void {
  const text = process.env[VARIABLE];
  delete process.env[VARIABLE];
  const match = MESSAGE.exec(text ?? '');
  // It became this process. Of another one it is a leftover.
  if (match === null || Number(match[1]) !== process.pid) return;
  const [, , limit = '', signals = '', descriptors = '', file, raised] = match;
  current = {
    ignoredSignals: signals === '-' ? [] : signalsOfMask(BigInt(`0x${signals}`)),
    descriptorLimit: /^\d+$/.test(limit) ? Number(limit) : null,
    descriptors: descriptors === '-' ? [] : descriptors.split(',').map(Number),
    hasRaisedRights: raised !== undefined,
  };
  if (file !== undefined) restoreEnvironment(Number(file));
  for (const name of TERMINAL_SIGNALS)
    if (current.ignoredSignals.includes(constants.signals[name])) process.on(name, () => {});
}

/** Standard signals only: no shell knows all real-time ones. SIGKILL and SIGSTOP cannot be ignored. */
function signalsOfMask(mask: bigint): number[] {
  const signals: number[] = [];
  for (let signal = 1; signal < 32; signal++) if ((mask >> BigInt(signal - 1)) & 1n) signals.push(signal);
  return signals;
}

function restoreEnvironment(file: number): void {
  const text = readAndClose(file);
  if (text === null) return;
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of text.split('\0')) {
    const equals = entry.indexOf('=');
    const name = entry.slice(0, equals);
    // Of two of a name, getenv(3) finds the first.
    if (equals > 0 && !Object.hasOwn(process.env, name)) process.env[name] = entry.slice(equals + 1);
  }
  delete process.env[VARIABLE];
}

/** The text of an open file of ours that has no name any more; null where it is something else. */
function readAndClose(fd: number): string | null {
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.nlink !== 0 || stat.uid !== process.geteuid?.()) return null;
    const bytes = Buffer.alloc(stat.size);
    const length = readSync(fd, bytes, 0, stat.size, 0);
    closeSync(fd);
    return bytes.toString('utf8', 0, length);
  } catch {
    // The shell's environment is a good one, too.
    return null;
  }
}
