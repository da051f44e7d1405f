/** Triggers of the command line alone: a person presses a key, or writes to a pipe. */
import { nearestNames, printable } from '@counterpoint/core/base';
import { TRIGGER_KINDS } from '../../../linux/sample/flight/index.ts';
import type { Output } from '../../common/output.ts';
import { UsageError } from '../../common/usage-error.ts';
import { ControlChannel, type ControlPlace, parseControlPlace } from '../shared/control-channel.ts';

/** Lines of the pipe; `snapshot` and `ping` are perf's words. */
const COMMANDS = ['snapshot', 'ping'] as const;

const PERSON_KINDS: readonly string[] = ['key', 'control'];

export interface PersonTriggers {
  hasKey: boolean;
  controls: readonly ControlPlace[];
  /** Those that the recorder knows itself. */
  others: readonly string[];
}

export function personTriggers(texts: readonly string[], hasCommand: boolean): PersonTriggers {
  texts.forEach(refuseUnknown);
  const hasKey = texts.some((text) => kindOf(text) === 'key');
  const bad = texts.find((text) => text.startsWith('key:'));
  if (bad !== undefined)
    throw new UsageError(`the trigger ${bad}: key is Enter, and has no argument`, 'Give key alone.');
  if (hasKey && hasCommand)
    throw new UsageError(
      '--on key needs the standard input, but the command has it',
      'Use --on signal:USR2, or start the command first and watch it with -p.',
    );
  const controls = texts.filter((text) => kindOf(text) === 'control').map(controlPlace);
  const others = texts.filter((text) => !PERSON_KINDS.includes(kindOf(text)));
  return { hasKey, controls, others };
}

function kindOf(text: string): string {
  return text.split(':', 1)[0]!;
}

/** `control:PIPE[,ANSWERS]`; opened and closed again, so that what cannot be is said before anything runs. */
function controlPlace(text: string): ControlPlace {
  const pipe = text.slice('control:'.length);
  if (pipe === '')
    throw new UsageError(
      `the trigger ${text}: it needs a named pipe`,
      'Make one with mkfifo FILE, and give control:FILE.',
    );
  const place = parseControlPlace(`fifo:${pipe}`, '--on control');
  new ControlChannel(
    place,
    COMMANDS,
    () => {},
    () => {},
  )[Symbol.dispose]();
  return place;
}

/** Of a trigger that nobody knows: the recorder knows only some. */
function refuseUnknown(text: string): void {
  const kind = kindOf(text);
  const all = [...PERSON_KINDS, ...TRIGGER_KINDS.map(({ name }) => name)];
  if (all.includes(kind)) return;
  const [near] = nearestNames(kind, all);
  throw new UsageError(
    `the trigger ${text}: there is no such kind`,
    near === undefined ? `Kinds are ${all.join(', ')}: counterpoint help triggers.` : `Did you mean ${near}?`,
  );
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
