import { lstatSync, readFileSync, unlinkSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * What a command should have from who started us, and what the way here takes away:
 *
 *   user's shell ──> bin/counterpoint (a shell) ──> node ──> a shell that holds ──> command
 *                    drops odd variables            resets ignored signals,
 *                                                   raises the limit of open files
 */
export interface Inherited {
  /** Numbers of the signals that are ignored: those that `nohup` and a shell's `&` ignore. */
  readonly ignoredSignals: readonly number[];
  /** Soft limit of open files; null where it is not known, or there is none. */
  readonly descriptorLimit: number | null;
}

let current: Inherited = { ignoredSignals: [], descriptorLimit: null };

export function inherited(): Inherited {
  return current;
}

/** The variable in which `bin/counterpoint` says it: `PID DESCRIPTORS SIGNALS FILE`. */
const VARIABLE = 'COUNTERPOINT_LAUNCHER';
const MESSAGE = /^(\d+) (\d+|unlimited|-) ([0-9a-f]+|-) (\/.*)?$/;
/** These would end this process; it ignores them, too, where it was started so. */
const TERMINAL_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/** Take over what the launcher says, and give this process the environment and the signals that it would have without it. */
export function takeOverFromLauncher(): void {
  const text = process.env[VARIABLE];
  delete process.env[VARIABLE];
  const match = MESSAGE.exec(text ?? '');
  // It became this process. Of another one it is a leftover.
  if (match === null || Number(match[1]) !== process.pid) return;
  const [, , descriptors = '', signals = '', file] = match;
  current = {
    ignoredSignals: signals === '-' ? [] : signalsOfMask(BigInt(`0x${signals}`)),
    descriptorLimit: /^\d+$/.test(descriptors) ? Number(descriptors) : null,
  };
  if (file !== undefined) restoreEnvironment(file);
  for (const name of TERMINAL_SIGNALS)
    if (current.ignoredSignals.includes(constants.signals[name])) process.on(name, () => {});
}

/** Standard signals only: no shell knows all real-time ones. SIGKILL and SIGSTOP cannot be ignored. */
function signalsOfMask(mask: bigint): number[] {
  const signals: number[] = [];
  for (let signal = 1; signal < 32; signal++) if ((mask >> BigInt(signal - 1)) & 1n) signals.push(signal);
  return signals;
}

function restoreEnvironment(file: string): void {
  let entries: string[];
  try {
    const stat = lstatSync(file);
    const isOurs = stat.isFile() && stat.uid === process.geteuid?.();
    if (!isOurs || !file.endsWith(`/counterpoint-environment.${process.pid}`)) return;
    entries = readFileSync(file, 'utf8').split('\0');
    unlinkSync(file);
  } catch {
    // The shell's environment is a good one, too.
    return;
  }
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of entries) {
    const equals = entry.indexOf('=');
    if (equals > 0) process.env[entry.slice(0, equals)] ??= entry.slice(equals + 1);
  }
  delete process.env[VARIABLE];
}
