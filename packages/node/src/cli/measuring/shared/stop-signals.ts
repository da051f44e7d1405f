import { constants } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inherited, LEAVE_COMMAND } from '../../../linux/kernel/target/index.ts';
import { EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { takeOverSignals } from '../../start/early-signals.ts';
import { FollowedCommand } from './followed-command.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
/** After a signal, the command may take its time; then it is said what is waited for. */
const LONG_WAIT_MS = 2000;
/** `timeout` and npm send a signal twice, to the process and to its group: that is one. */
const ONE_SIGNAL_MS = 200;

/** What is waited for after a signal, and what another one does. */
export function waitText(hasSentTerm: boolean): string {
  return hasSentTerm
    ? 'waiting for the command to end, which was sent SIGTERM; press Ctrl-C again to end without it'
    : 'waiting for the command to end; press Ctrl-C again to send it SIGTERM';
}

/** What a verb says then. The next signal may end this process, so it may not stay in a buffer. */
export function tellWait(verb: string, err: Output): (hasSentTerm: boolean) => void {
  return (hasSentTerm) => {
    err.line(`counterpoint ${verb}: ${waitText(hasSentTerm)}`);
    err.flush();
  };
}

/** An output that is a named pipe without reader: nothing happens until there is one. */
export function tellWaitForReader(verb: string, path: string, err: Output): void {
  err.line(`counterpoint ${verb}: waiting for a reader of ${path}; press Ctrl-C to stop waiting`);
  err.flush();
}

/** What this process ends by, once it has written what it has. */
let endedBy: NodeJS.Signals | null = null;

/**
 * End by the signal that ended the recording or counting, as perf does: a shell then knows
 * that its script was interrupted, which a status alone does not tell. Returns where there was
 * none; SIGQUIT would leave a core.
 */
export function endByReceivedSignal(): void {
  if (endedBy === 'SIGPIPE') endAtOnce(endedBy);
  else if (endedBy !== null && endedBy !== 'SIGQUIT') process.kill(process.pid, endedBy);
}

/**
 * The reader of a recording on standard output is gone: end silently and by SIGPIPE, as perf does. False
 * where who started us ignores that signal: then it is an error like others. Node ignores it always.
 */
export function endsByClosedPipe(): boolean {
  if (inherited().ignoredSignals.includes(constants.signals.SIGPIPE)) return false;
  endedBy = 'SIGPIPE';
  return true;
}

/**
 * The status of a verb that watches: a signal to it comes before what the command's status is, as in perf
 * record. A command that was told to end may end as it likes.
 */
export function statusAfter(received: NodeJS.Signals | null, commandStatus: number | null): number {
  return received === null ? (commandStatus ?? EXIT_OK) : 128 + constants.signals[received];
}

export interface SignalStop extends Disposable {
  signal: AbortSignal;
  received(): NodeJS.Signals | null;
  /**
   * At the end: also a signal that came together with the end of the command, as Ctrl-C in a terminal does,
   * and that nobody has been told of yet.
   */
  lastReceived(): Promise<NodeJS.Signals | null>;
  /** As a signal would, but nobody sent one. */
  end(): void;
  /** The command that runs now: it is its end that signals ask for. */
  follow(pid: number | null): void;
}

/**
 * By the signal itself: `process.exit` waits for threads, and one of them may be writing into a pipe that
 * nobody empties. SIGQUIT would leave a core.
 */
function endAtOnce(signal: NodeJS.Signals): void {
  // Who no longer listens to a signal has its default, also where it was ignored before.
  process.on(signal, () => {});
  process.removeAllListeners(signal);
  process.kill(process.pid, signal === 'SIGQUIT' ? 'SIGKILL' : signal);
}

/**
 * Without a command, the first signal ends recording or counting, and what there is by then is written; a
 * second one ends this process at once. With one, it is the command that ends, and the recording has its end:
 *
 *   first    what came to this process alone is sent on; the command has its time to end
 *   second   the command gets SIGTERM
 *   third    recording or counting ends with what there is, and the command is left to itself
 *   fourth   ends this process at once
 *
 * Under nohup a hangup does nothing; an interrupt does also where it is ignored, as in perf: scripts end
 * their `record &` with `kill -INT`. `onFirst` is called at the first signal, `onLongWait` when what it ends
 * takes its time.
 */
export function stopOnSignals(
  onLongWait: (hasSentTerm: boolean) => void,
  onFirst: () => void = () => {},
): SignalStop {
  const isNoHangup = inherited().ignoredSignals.includes(constants.signals.SIGHUP);
  const signals = SIGNALS.filter((signal) => signal !== 'SIGHUP' || !isNoHangup);
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  let last: NodeJS.Signals | null = null;
  let lastAtMs = 0;
  let hasSentTerm = false;
  let command: FollowedCommand | null = null;
  let timer: NodeJS.Timeout | undefined;
  const waitLong = () => {
    clearTimeout(timer);
    timer = setTimeout(onLongWait, LONG_WAIT_MS, hasSentTerm);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (signal === last && performance.now() - lastAtMs < ONE_SIGNAL_MS) return;
    [last, lastAtMs] = [signal, performance.now()];
    const isFirst = received === null;
    if (isFirst) [received, endedBy] = [signal, signal];
    const waited = command?.isAlive === true ? command : null;
    if (controller.signal.aborted) {
      if (!isFirst) endAtOnce(signal);
    } else if (waited === null) {
      if (!isFirst) endAtOnce(signal);
      controller.abort();
    } else if (isFirst) {
      void waited.passOn(signal);
    } else if (!hasSentTerm) {
      hasSentTerm = true;
      waited.send('SIGTERM');
    } else {
      controller.abort(LEAVE_COMMAND);
    }
    if (isFirst) onFirst();
    waitLong();
  };
  for (const signal of signals) process.on(signal, onSignal);
  takeOverSignals();
  return {
    signal: controller.signal,
    received: () => received,
    lastReceived: async () => {
      // The first turn is that in which the end was seen: the signal may have come behind what it looked for.
      await nextTurn();
      await nextTurn();
      return received;
    },
    end: () => controller.abort(),
    follow: (pid) => {
      command?.[Symbol.dispose]();
      command = pid === null ? null : new FollowedCommand(pid);
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      command?.[Symbol.dispose]();
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
