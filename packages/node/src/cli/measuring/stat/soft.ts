import { printableJson } from '@counterpoint/core/base';
import { DEAD_BREAKPOINTS } from '../../../linux/kernel/perf-events/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import {
  countOf,
  countSoft,
  functionWay,
  parseSoftEvents,
  type SoftEvent,
  type SoftResult,
  type SoftWay,
} from '../../../linux/stepping/softpmu/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { UsageError } from '../../common/usage-error.ts';
import { statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import { openResult } from './output.ts';
import type { StatName } from './stat.ts';

type Context = VerbContext<StatName>;

/** What works with soft events; the rest of stat's options is for counters of the kernel. */
const OPTIONS: ReadonlySet<string> = new Set<StatName | 'verbose'>([
  'event',
  'pid',
  'count-iterations',
  'soft-way',
  'on-function',
  'stop-after',
  'json',
  'output',
  'append',
  'verbose',
  'quiet',
]);

/** Counts `-e soft/instructions/` and its like; `null` when no such event was asked for. */
export async function runSoftStat(context: Context): Promise<number | null> {
  const { args, out, err } = context;
  const events = parseSoftEvents(args.all('event'));
  if (events === null) {
    for (const name of ['count-iterations', 'soft-way', 'on-function', 'stop-after'] as const)
      if (args.has(name)) throw new UsageError(`--${name} is for soft events`, 'Add -e soft/instructions/');
    return null;
  }
  const way = wayOf(context);
  const refused = args.given.find(({ name }) => !OPTIONS.has(name));
  if (refused !== undefined)
    throw new UsageError(
      `${refused.shown} does not work with soft events, which are counted by single steps`,
      `With ${events[0]!.requestedName}: ${[...OPTIONS].map((name) => `--${name}`).join(', ')}`,
    );
  const pids = args.has('pid') ? args.numbers('pid') : [];
  if (pids.length > 0 === args.words.length > 0)
    throw new UsageError(
      'soft events need one target: a command, or the processes of -p',
      `counterpoint stat -e ${events[0]!.requestedName} -- COMMAND`,
    );
  const onFunction = args.string('on-function');
  const stopAfter = args.quantity('stop-after', { min: 1 });
  if (way === 'fast' && (onFunction ?? stopAfter) !== undefined)
    throw new UsageError(
      `--${onFunction === undefined ? 'stop-after' : 'on-function'} needs single steps`,
      'Use --soft-way step',
    );
  if (onFunction !== undefined && functionWay(realSys) === 'step')
    err.line(err.style.yellow(`Note: all of the target is stepped: ${DEAD_BREAKPOINTS}`));
  const isVerbose = args.boolean('verbose');
  const path = args.has('output') ? args.string('output') : null;
  const result = await openResult({ output: path ?? null, append: args.boolean('append') }, out, err);
  using stop = stopOnSignals(tellWait('stat', err));
  try {
    const counted = await countSoft({
      command: args.words,
      pids,
      way,
      onFunction,
      stopAfter,
      signal: stop.signal,
      onStart: (tracer, command) => {
        if (!isVerbose) return;
        if (command !== null) err.line(`counterpoint stat: the command is process ${command}`);
        err.line(`counterpoint stat: the tracer is process ${tracer}`);
        err.flush();
      },
    });
    if (!args.boolean('quiet')) print(context, events, counted, result.output);
    const received = await stop.lastReceived();
    if (received !== null) return statusAfter(received, null);
    return counted.exit?.code ?? EXIT_OK;
  } finally {
    result.close();
  }
}

function wayOf({ args }: Context): SoftWay {
  const way = args.has('soft-way') ? args.string('soft-way') : 'step';
  if (way !== 'step' && way !== 'fast')
    throw new UsageError(
      `--soft-way is 'step' or 'fast', not '${way}'`,
      'fast counts without --count-iterations',
    );
  if (way === 'fast' && args.boolean('count-iterations'))
    throw new UsageError(
      '--count-iterations needs single steps: translated code executes a repeated instruction as one',
      'Use --soft-way step',
    );
  return way;
}

interface Row {
  event: string;
  value: number | null;
}

function rowsOf(events: readonly SoftEvent[], { counts }: SoftResult, withIterations: boolean): Row[] {
  return events.flatMap(({ requestedName, name }) => {
    const row = { event: requestedName, value: countOf(counts, name) };
    if (name !== 'instructions' || !withIterations) return [row];
    return [row, { event: `${requestedName} with each iteration`, value: counts.iterations }];
  });
}

function print({ args }: Context, events: readonly SoftEvent[], result: SoftResult, output: Output): void {
  const withIterations = args.boolean('count-iterations');
  const { counts, stepped, elapsedNs, exit } = result;
  if (args.boolean('json')) {
    const rows = events.map(({ requestedName, name }) => ({
      event: requestedName,
      value: String(countOf(counts, name)),
      iterations: name === 'instructions' && withIterations ? String(counts.iterations) : null,
    }));
    const { threads, unreadable } = counts;
    const answer = {
      type: 'soft-counts',
      version: 1,
      rows,
      threads,
      unreadable: String(unreadable),
      stepped: String(stepped),
    };
    output.line(printableJson({ ...answer, elapsedNs: String(elapsedNs), exit }));
    return;
  }
  const subject = args.words.length > 0 ? `'${args.words.join(' ')}'` : `process id '${args.string('pid')}'`;
  output.line('');
  output.line(` Performance counter stats for ${subject}:`);
  output.line('');
  for (const { event, value } of rowsOf(events, result, withIterations))
    output.line(`${(value ?? 0).toLocaleString('en-US').padStart(18)}      ${event}`);
  output.line('');
  output.line(
    `${(Number(elapsedNs) / 1e9).toFixed(9).padStart(18)} seconds time elapsed${stepped === counts.instructions ? ', in single steps' : ''}`,
  );
  if (counts.unreadable > 0)
    output.line(
      ` ${counts.unreadable} instructions could not be read: whether they were branches is not known`,
    );
  output.line('');
}
