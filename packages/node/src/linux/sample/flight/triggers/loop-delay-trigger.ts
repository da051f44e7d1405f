import { CounterpointError, parseDurationMs } from '@counterpoint/core/base';
import { missingCapabilities } from '../../../kernel/bpf/index.ts';
import type { Sys } from '../../../kernel/sys/index.ts';
import { LOOP_TABLE, LoopTable, writeLoopProgram } from './loop-table.ts';
import { LoopWatch } from './loop-watch.ts';
import { hookCalls } from './system-call-hooks.ts';
import { mainThreadCpuNs, whereIsMainThread } from './thread-whereabouts.ts';
import { badTrigger, type Trigger, type TriggerContext, type TriggerKind } from './trigger.ts';

const LONGEST_MS = 3_600_000;
/** From one look to the next, at least: many loops could be late soon. */
const SHORTEST_LOOK_MS = 5;
const NS_PER_MS = 1e6;
const EPOLL_WAITS = ['epoll_wait', 'epoll_pwait', 'epoll_pwait2'];

/**
 * The time from the return of an event loop's wait to its next one. A program of a few instructions in the
 * kernel notes when the main thread of a watched process came back from its wait, in memory that is mapped
 * here. Nothing runs in the target, and nothing waits for it to come back.
 *
 *   epoll_wait ── returns ──> since = now ......... runs JavaScript ......... epoll_wait
 *                                          └── looked at: no other return for 500 ms, and in no wait: a file
 *
 * Beginnings of waits are noted, too, where that costs little (at functions of the kernel), and where /proc
 * does not say whether a process waits.
 */
export const LOOP_DELAY: TriggerKind = {
  name: 'loop-delay',
  form: 'loop-delay:TIME',
  help: 'the event loop of a watched process (its main thread) has not come back for so long',
  example: 'loop-delay:500ms',
  parse(argument, text): Trigger {
    const delayMs = argument === null ? null : parseDurationMs(argument);
    if (delayMs === null || delayMs < 1 || delayMs > LONGEST_MS)
      throw badTrigger(text, 'it needs a time', 'Give one from 1ms to 1h, such as loop-delay:500ms.');
    return { text, start: (context) => start(context, text, delayMs) };
  },
};

async function start(context: TriggerContext, text: string, delayMs: number): Promise<Disposable> {
  const { sys, scope, fire, note, fail } = context;
  if (scope.kind === 'cpus')
    throw badTrigger(text, 'it needs processes, but CPUs are watched', 'Watch a process (-p) or a command.');
  requireRights(sys, text);
  const hooks = await hookCalls(sys, EPOLL_WAITS, { maps: [LOOP_TABLE], program: writeLoopProgram });
  const mapping = hooks.map(LOOP_TABLE.name).mapValues('write');
  const table = new LoopTable(mapping);
  const watch = new LoopWatch(
    {
      since: (place) => table.since(place),
      whereIs: whereIsMainThread,
      cpuNs: mainThreadCpuNs,
      seesEntries: () => hooks.seesEntries,
      hidden: hookEntries,
    },
    delayMs,
  );
  function hookEntries(): void {
    try {
      hooks.hookEntries();
    } catch (error) {
      fail(error);
    }
  }
  function add(pid: number): void {
    if (watch.has(pid)) return;
    const place = table.add(pid);
    if (place === null)
      note(`there are so many processes that there is no room for ${pid}; it watches the others`);
    else watch.add(pid, place);
    if (!hooks.seesEntries && whereIsMainThread(pid) === 'hidden') hookEntries();
  }
  function remove(pid: number): void {
    const place = watch.remove(pid);
    if (place !== null) table.remove(place);
  }
  const unwatch = context.watchProcesses((pid, isThere) => (isThere ? add(pid) : remove(pid)));
  let timer: NodeJS.Timeout;
  function look(): void {
    const nowNs = process.hrtime.bigint();
    const { late, nextNs } = watch.look(nowNs);
    for (const { pid, lateMs } of late) fire(`${text}: process ${pid}, ${lateMs} ms`);
    timer = setTimeout(look, Math.max(SHORTEST_LOOK_MS, Math.ceil(Number(nextNs - nowNs) / NS_PER_MS)));
  }
  look();
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      unwatch();
      mapping.close();
      hooks.close();
    },
  };
}

/**
 * Said before anything is tried: the files of tracefs are root's, and that they cannot be read is no reason.
 */
function requireRights(sys: Sys, text: string): void {
  const missing = missingCapabilities(sys);
  if (missing.length === 0) return;
  const rights = missing.join(' and ');
  throw new CounterpointError(
    'ERR_BPF_RIGHTS',
    `the trigger ${text}: this user may not run programs in the kernel, and they time the waits of the event loop (${rights} missing)`,
    `Run it as root, or with ${rights}: counterpoint doctor says how to get them here. Without them, use --on signal:USR2 or every:60s, or recorder.dump() in a program.`,
  );
}
