import type { EventEmitter } from 'node:events';
import { writeSync } from 'node:fs';

/** Emitted at `process` by who listens to signals from then on. */
const WATCHING = 'counterpoint:watching';

/** Verbs that end in a way of their own when they are interrupted. */
const WATCHERS: ReadonlySet<string> = new Set([
  'record',
  'stat',
  'top',
  'off-cpu',
  'loop',
  'flight',
  'pt record',
]);

/**
 * Says that nothing was recorded where a signal comes before the verb listens. To load the program takes 60
 * ms of CPU; beside hundreds of busy threads that is many seconds, and who pressed Ctrl-C then got no word.
 */
export function tellEarlySignals([first = '', second]: readonly string[]): void {
  const verb = first === 'pt' ? `pt ${second}` : first;
  if (!WATCHERS.has(verb) || second === 'report') return;
  const end = (signal: NodeJS.Signals) => {
    // Who started us ignores it (`nohup`, a shell's `&`): see `takeOverFromLauncher`.
    if (process.listenerCount(signal) > 1) return;
    writeSync(2, `counterpoint ${verb}: ended by ${signal} before it began to watch; nothing was kept\n`);
    leave();
    process.kill(process.pid, signal);
  };
  const leave = () => {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  (process as EventEmitter).once(WATCHING, leave);
}

/** The caller listens to signals itself from now on. */
export function takeOverSignals(): void {
  (process as EventEmitter).emit(WATCHING);
}
