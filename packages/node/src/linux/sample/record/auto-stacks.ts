/**
 * `callGraph: 'auto'`: how call stacks of user code are recorded, by what is recorded and what may be
 * done here.
 *
 *     Node                       by frame pointers: V8 builds them, and names of JavaScript hang on the kernel's chain
 *     programs may be loaded     unwound in the kernel (the format `unwind`): a few hundred bytes a sample
 *     otherwise                  copies of the stack, which are unwound when the recording is read
 *     not x86-64                 by frame pointers, which binaries of arm64 have as a rule
 */
import { PERF_MAX_STACK_DEPTH, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import type { Note } from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { softKindOf, softTracingOf } from '../../stepping/softpmu/index.ts';
import { UNWOUND_FRAMES, whyNoHandlers } from '../formats/index.ts';
import type { RecordOptions } from './options.ts';
import { isOfNode, resolveEvents, type Scope } from './request.ts';

type StackWay = 'fp' | 'dwarf' | 'unwind';

/** Options whose answers are in the kernel's own records, and what they are. */
const NEED_KERNEL_RECORDS: readonly (readonly [keyof RecordOptions, what: string])[] = [
  ['sampleParts', 'more parts of samples'],
  ['branchStack', 'branches'],
  ['cgroups', 'control groups'],
  ['eventLoops', 'turns of event loops'],
  ['perThread', 'events of single threads'],
];

const WAY_WORDS: Readonly<Record<StackWay, string>> = {
  fp: 'by frame pointers',
  dwarf: 'from copies of the stack, 8 KiB a sample',
  unwind: 'unwound in the kernel, by the frame information of the binaries',
};

/** The request with a way in place of `auto`; a note says which one, and why. */
export async function withChosenStacks(
  options: RecordOptions,
  scope: Scope,
  notes: Note[],
  setting: (name: string) => number | null = kernelSetting,
): Promise<RecordOptions> {
  if (options.callGraph !== 'auto') return options;
  if ((options.formats ?? []).length > 0)
    throw new CounterpointError(
      'ERR_CALL_GRAPH',
      "callGraph: 'auto' chooses a sampling format, and one is given",
      'Leave the format out, or give -g in place of --call-graph auto.',
    );
  const events = await resolveEvents(options.events, options.filters);
  const mostFrames = setting('perf_event_max_stack') ?? PERF_MAX_STACK_DEPTH;
  const { way, why } = wayFor(options, scope, events, mostFrames);
  notes.push({
    kind: 'call-stacks',
    text: `call stacks are ${WAY_WORDS[way]}${why === '' ? '' : `: ${why}`}`,
  });
  if (way !== 'unwind') return { ...options, callGraph: way };
  const depth = Math.min(mostFrames, UNWOUND_FRAMES.most);
  if (depth !== PERF_MAX_STACK_DEPTH)
    notes.push({
      kind: 'call-stacks',
      text: `call stacks have at most ${depth} frames: kernel.perf_event_max_stack is ${mostFrames} (usually ${PERF_MAX_STACK_DEPTH})`,
    });
  return { ...options, callGraph: true, formats: [{ format: 'unwind', options: { depth } }] };
}

function wayFor(
  options: RecordOptions,
  scope: Scope,
  events: readonly ParsedEvent[],
  mostFrames: number,
): { way: StackWay; why: string } {
  if (process.arch !== 'x64')
    return { way: 'fp', why: `other ways are for x86-64, and this is ${process.arch}` };
  if (options.callchains === 'kernel') return { way: 'fp', why: 'only chains of the kernel are wanted' };
  if (events.some(({ attr }) => softKindOf(attr) !== null || softTracingOf(attr) !== null))
    return { way: 'fp', why: 'single steps follow calls themselves' };
  if (isNode(scope, options))
    return { way: 'fp', why: 'Node has them, and its functions have names by them' };
  if (mostFrames < UNWOUND_FRAMES.least)
    return { way: 'dwarf', why: `kernel.perf_event_max_stack is ${mostFrames}` };
  const why = whyNotUnwound(options, events);
  return why === null ? { way: 'unwind', why: '' } : { way: 'dwarf', why };
}

/**
 * Of a whole machine Node is a part, and of what a shell runs perhaps: there others
 * are to have whole stacks, too.
 */
function isNode(scope: Scope, options: RecordOptions): boolean {
  const nodeNames = options.nodeNames === true;
  return scope.kind !== 'cpus' && isOfNode(scope, { ...options, nodeNames });
}

/** Null: the kernel can unwind stacks for us. */
function whyNotUnwound(options: RecordOptions, events: readonly ParsedEvent[]): string | null {
  const own = events.find(({ attr, probe }) => attr.type === PERF_TYPE_TRACEPOINT || probe !== undefined);
  if (own !== undefined) return `${own.name} has no interrupted address from which the kernel could unwind`;
  const grouped = events.find(({ isLeader }) => !isLeader);
  if (grouped !== undefined) return `${grouped.name} follows the leader of its group`;
  const needed = NEED_KERNEL_RECORDS.find(([name]) => isGiven(options[name]));
  if (needed !== undefined) return `${needed[1]} are in the kernel's own records only`;
  const { clockId } = options;
  if (clockId !== undefined && clockId !== CLOCK_MONOTONIC)
    return 'programs in the kernel have another clock';
  return whyNoHandlers(options.sys ?? realSys);
}

const CLOCK_MONOTONIC = 1;

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
}
