import { nearestNames } from '@counterpoint/core/base';
import { CRASH } from './crash-trigger.ts';
import { EVENT, FIELD } from './event-trigger.ts';
import { FUNCTION } from './function-trigger.ts';
import { LOOP_DELAY } from './loop-delay-trigger.ts';
import { PRESSURE } from './pressure-trigger.ts';
import { EVERY, EXIT, SIGNAL } from './simple-triggers.ts';
import { badTrigger, type Trigger, type TriggerKind } from './trigger.ts';

export type {
  ProcessListener,
  Trigger,
  TriggerContext,
  TriggerKind,
  TriggerSource,
  WaitingTrigger,
} from './trigger.ts';

/** Every kind of trigger, in the order in which help shows them. */
export const TRIGGER_KINDS: readonly TriggerKind[] = [
  SIGNAL,
  LOOP_DELAY,
  FUNCTION,
  EVENT,
  FIELD,
  EXIT,
  CRASH,
  EVERY,
  PRESSURE,
];

/** `KIND` or `KIND:ARGUMENT`. */
export async function parseTrigger(text: string): Promise<Trigger> {
  const colon = text.indexOf(':');
  const name = colon < 0 ? text : text.slice(0, colon);
  const kind = TRIGGER_KINDS.find((one) => one.name === name);
  if (kind !== undefined) return await kind.parse(colon < 0 ? null : text.slice(colon + 1), text);
  const names = TRIGGER_KINDS.map((one) => one.name);
  const [near] = nearestNames(name, names);
  throw badTrigger(
    text,
    'there is no such kind',
    near === undefined ? `Kinds are ${names.join(', ')}.` : `Did you mean ${near}?`,
  );
}
