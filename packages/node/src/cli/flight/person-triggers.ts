/** Triggers of the command line alone: a person presses a key, or writes to a pipe. */
import { printable } from '@counterpoint/core/base';
import { ControlChannel, type ControlPlace, parseControlPlace } from '../common/control-channel.ts';
import type { Output } from '../common/output.ts';
import { UsageError } from '../common/usage-error.ts';

/** Lines of the pipe; `snapshot` and `ping` are perf's words. */
const COMMANDS = ['snapshot', 'ping'] as const;

export interface PersonTriggers {
  hasKey: boolean;
  controls: readonly ControlPlace[];
  /** Those that the recorder knows itself. */
  others: readonly string[];
}

export function personTriggers(texts: readonly string[], hasCommand: boolean): PersonTriggers {
  const hasKey = texts.includes('key');
  if (hasKey && hasCommand)
    throw new UsageError(
      '--on key needs the standard input, but the command has it',
      'Use --on signal:USR2, or start the command first and watch it with -p.',
    );
  const controls = texts
    .filter((text) => text.startsWith('control:'))
    .map((text) => parseControlPlace(`fifo:${text.slice('control:'.length)}`));
  const others = texts.filter((text) => text !== 'key' && !text.startsWith('control:'));
  return { hasKey, controls, others };
}

/** Waits for them, until disposed of. */
export function waitForPerson(
  { hasKey, controls }: PersonTriggers,
  dump: (why: string) => void,
  err: Output,
): Disposable {
  const channels = controls.map(
    (place) =>
      new ControlChannel(
        place,
        COMMANDS,
        ({ name, argument }) => {
          if (name === 'snapshot') dump(argument === '' ? `control:${place.commands}` : argument);
        },
        (line) =>
          err.line(
            `counterpoint flight: ${place.commands} does not know '${printable(line)}'; it knows snapshot`,
          ),
      ),
  );
  const onData = () => dump('key');
  if (hasKey) process.stdin.on('data', onData);
  return {
    [Symbol.dispose]: () => {
      for (const channel of channels) channel[Symbol.dispose]();
      if (!hasKey) return;
      process.stdin.off('data', onData);
      process.stdin.pause();
    },
  };
}
