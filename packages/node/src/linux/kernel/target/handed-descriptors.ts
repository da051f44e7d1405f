import { fstatSync, readdirSync } from 'node:fs';
import { inherited } from './inherited.ts';
import { readProc } from './proc.ts';

/** linux/fcntl.h; the same on x86-64 and arm64. */
const O_CLOEXEC = 0o2000000;
/** What sd_listen_fds(3) begins with. */
const FIRST_LISTENING = 3;
const MOST_LISTENING = 4096;
/** `make -j` before 4.4, and with `--jobserver-style=pipe`: `--jobserver-auth=3,4`. */
const JOBSERVER = /(?:^|\s)--jobserver-(?:auth|fds)=(\d+),(\d+)/;

/**
 * The descriptors above 2 that a command has, under the same numbers, because its parent was given
 * them. Where the launcher did not say which these are, Node has marked them to be closed by an
 * exec, as it marks its own. Some are known all the same: those that the environment names, and high
 * ones, which Node does not reach.
 */
export function handedDescriptors(env: NodeJS.ProcessEnv): number[] {
  const numbers = new Set([...inherited().descriptors, ...keptOpen(), ...namedByEnvironment(env)]);
  return [...numbers].filter((number) => number > 2 && isOpen(number)).sort((a, b) => a - b);
}

/** Whether `LISTEN_PID` is this process: what it starts in its place is meant. */
export function isListenerOf(env: NodeJS.ProcessEnv): boolean {
  return env['LISTEN_PID'] === String(process.pid);
}

function namedByEnvironment(env: NodeJS.ProcessEnv): number[] {
  const numbers: number[] = [];
  const jobserver = JOBSERVER.exec(env['MAKEFLAGS'] ?? '');
  if (jobserver !== null) numbers.push(...jobserver.slice(1).map(Number).filter(isPipe));
  const count = isListenerOf(env) ? Number(env['LISTEN_FDS'] ?? 0) : 0;
  for (let n = 0; n < Math.min(count, MOST_LISTENING); n++) numbers.push(FIRST_LISTENING + n);
  return numbers;
}

/** Those that no exec closes. */
function keptOpen(): number[] {
  return openDescriptors().filter((number) => {
    const flags = /^flags:\s*([0-7]+)/m.exec(readProc(`self/fdinfo/${number}`) ?? '')?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  });
}

function openDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

export function isOpen(number: number): boolean {
  try {
    fstatSync(number);
    return true;
  } catch {
    return false;
  }
}

function isPipe(number: number): boolean {
  try {
    return fstatSync(number).isFIFO();
  } catch {
    return false;
  }
}
