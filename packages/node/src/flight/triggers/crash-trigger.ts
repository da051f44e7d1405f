import { resolveEvents } from '../../record/index.ts';
import { waitFor } from './event-trigger.ts';
import { badTrigger, NOTHING, type TriggerKind } from './trigger.ts';

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
          return await waitFor(event!, { text, count: 1, filter })(context);
        } catch (error) {
          if (context.scope.kind !== 'command') throw error;
          return NOTHING;
        }
      },
    };
  },
};
