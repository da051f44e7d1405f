import { constants } from 'node:os';
import { resolveEvents } from '../../record/index.ts';
import { type TracepointHit, waitFor } from './event-trigger.ts';
import { badTrigger, NOTHING, type TriggerContext, type TriggerKind } from './trigger.ts';

/** ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS of asm-generic/signal.h: those that leave a core. */
const CORE_SIGNALS = [4, 5, 6, 7, 8, 11, 31];

/**
 * A fatal signal as it is delivered, while all that was there still is: of children and threads, too. Where
 * the user may have no tracepoints, the end of the command by such a signal.
 */
export const CRASH: TriggerKind = {
  name: 'crash',
  form: 'crash',
  help: 'a watched process dies of a signal that leaves a core (SEGV, ABRT, BUS, FPE, ILL, TRAP, SYS)',
  example: 'crash',
  parse(argument, text) {
    if (argument !== null) throw badTrigger(text, 'crash has no argument', 'Give crash alone.');
    return {
      text,
      atEnd: 'crash',
      async start(context) {
        try {
          const [event] = await resolveEvents(['signal:signal_deliver']);
          // With a handler of its own the program goes on.
          const filter = `sa_handler == 0 && (${CORE_SIGNALS.map((number) => `sig == ${number}`).join(' || ')})`;
          return await waitFor(event!, { text, count: 1, filter, describe: describeCrash })(context);
        } catch (error) {
          if (context.scope.kind !== 'command') throw error;
          return NOTHING;
        }
      },
    };
  },
};

/** Of `signal:signal_deliver`, behind the 8 bytes that every tracepoint has. */
const SIGNAL_AT = 8;

/** `SIGSEGV in worker (process 12, thread 14)`. */
function describeCrash({ pid, tid, fields }: TracepointHit, { nameOf }: TriggerContext): string {
  const number = fields.byteLength >= SIGNAL_AT + 4 ? fields.getInt32(SIGNAL_AT, true) : 0;
  const [signal = `signal ${number}`] =
    Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  const name = nameOf(pid, tid) ?? nameOf(pid, pid);
  const who = name === null ? '' : `${name} `;
  return `${signal} in ${who}(process ${pid}${tid === pid ? '' : `, thread ${tid}`})`;
}
