import { constants } from 'node:os';
import { MOST_TIMER_MS, parseDurationMs } from '@counterpoint/core/base';
import { badTrigger, NOTHING, type TriggerKind } from './trigger.ts';

/** These end programs, and this one, too. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL', 'SIGSTOP'];
/** V8 or Node have those. */
const TAKEN = ['SIGUSR1', 'SIGPROF', 'SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGTRAP', 'SIGCHLD'];

export const SIGNAL: TriggerKind = {
  name: 'signal',
  form: 'signal:NAME',
  help: 'this process gets the signal, such as USR2',
  example: 'signal:USR2',
  parse(argument, text) {
    const name = `SIG${(argument ?? 'USR2').replace(/^SIG/i, '').toUpperCase()}`;
    if (!Object.hasOwn(constants.signals, name) || [...ENDING, ...TAKEN].includes(name))
      throw badTrigger(
        text,
        `${name} cannot be a trigger`,
        'Give USR2, WINCH, CONT, or one from RTMIN to RTMAX.',
      );
    const signal = name as NodeJS.Signals;
    return {
      text,
      source: 'person',
      start({ fire }) {
        const onSignal = () => fire(text);
        process.on(signal, onSignal);
        return { [Symbol.dispose]: () => void process.off(signal, onSignal) };
      },
    };
  },
};

/** A file is written in less, also on a machine that is busy. */
const LEAST_INTERVAL_MS = 100;

export const EVERY: TriggerKind = {
  name: 'every',
  form: 'every:TIME',
  help: 'once in this time, whatever other triggers do',
  example: 'every:60s',
  parse(argument, text) {
    const intervalMs = argument === null ? null : parseDurationMs(argument);
    if (intervalMs === null || intervalMs <= 0 || intervalMs > MOST_TIMER_MS)
      throw badTrigger(text, 'it needs a time', 'Give one from 100ms to 24 days, such as every:60s.');
    if (intervalMs < LEAST_INTERVAL_MS)
      throw badTrigger(
        text,
        `no file is written every ${argument}: one takes some tens of milliseconds`,
        'Give a time from 100ms on. A file has all that happened since the one before, with its times.',
      );
    return {
      text,
      source: 'clock',
      start({ fire }) {
        const timer = setInterval(() => fire(text), intervalMs);
        return { [Symbol.dispose]: () => clearInterval(timer) };
      },
    };
  },
};

function atEnd(name: 'exit' | 'crash', help: string): TriggerKind {
  return {
    name,
    form: name,
    help,
    example: name,
    parse(argument, text) {
      if (argument !== null) throw badTrigger(text, `${name} has no argument`, `Give ${name} alone.`);
      return { text, atEnd: name === 'exit' ? 'end' : 'crash', start: () => NOTHING };
    },
  };
}

export const EXIT = atEnd('exit', 'the command or the watched processes have ended');
