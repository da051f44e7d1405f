import { PERF_SAMPLE_CALLCHAIN, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type BpfMapDefinition,
  type BpfProgram,
  type BpfProgramType,
  type ContextField,
  r6,
} from '../../kernel/bpf/index.ts';
import { systemTracepoint } from '../../kernel/local-pmus/index.ts';
import { openedSampleType, type PlannedEvent } from '../../kernel/perf-events/index.ts';
import { everyNth, runCounts } from './every-nth.ts';
import type { FormatPlan, FormatProgram, HandlerContext, ProgramContext, SamplingFormat } from './format.ts';
import { FormatAssembler } from './format-assembler.ts';
import { explainThrown, refuseUnfinished } from './format-errors.ts';
import { countInterrupting, lossMap, ProgramLossCounters } from './loss-counters.ts';
import { exitAfterEnd, loadBeginNs } from './recorded-time.ts';
import { enterGuard, leaveGuard } from './run-guard.ts';
import { SuspensionWriter } from './suspension.ts';
import type { TargetFilter } from './target-filter.ts';
import { checkWakeRule, countEntry, wakeAtFilledRing, wakeEvery } from './wake-rules.ts';

const CALLCHAIN = BigInt(PERF_SAMPLE_CALLCHAIN);

/** Where `context.notify()` and wake rules speak to `collect`: notes of 8 bytes, so this is plenty. */
export const NOTIFY_RING: BpfMapDefinition = {
  name: 'notify',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: 4096,
};

/** Programs that keep the target filter right. */
const MOST_FILTER_PROGRAMS = 1;

export interface AssembledProgram {
  readonly program: BpfProgram;
  readonly attach: FormatProgram['attach'];
}

/** All programs of a format, as data. */
export interface AssembledFormat {
  /** In the order of the events; none where the format leaves the record to the kernel. */
  readonly handlers: readonly BpfProgram[];
  /** Those of the plan, then the target filter's. */
  readonly programs: readonly AssembledProgram[];
  /** Its rows are handlers first, then programs. */
  readonly losses: BpfMapDefinition;
  readonly hasNotifications: boolean;
  /** Some program asks when the recording begins. */
  readonly heedsBegin: boolean;
}

export function assembleFormat(
  format: SamplingFormat,
  options: Readonly<Record<string, unknown>>,
  plan: FormatPlan,
  events: readonly PlannedEvent[],
  filter: TargetFilter,
): AssembledFormat {
  const { programs: planned = [], wake = { kind: 'never' }, maps = [] } = plan;
  const filled = checkWakeRule(format.name, wake, maps);
  const handlerCount = format.onOverflow === undefined ? 0 : events.length;
  const losses = lossMap(handlerCount + planned.length + MOST_FILTER_PROGRAMS);
  let hasNotifications = false;
  let heedsBegin = false;
  const write = (
    what: string,
    asm: FormatAssembler,
    type: BpfProgramType,
    index: number,
    body: (context: ProgramContext) => unknown,
    beforeRun: () => void = () => {},
  ): BpfProgram => {
    try {
      asm.saveContext(r6);
      beforeRun();
      const suspension = plan.suspend === true ? new SuspensionWriter(asm, type === 'perf-event') : null;
      const counters = new ProgramLossCounters(asm, losses, index);
      const tell = () => {
        hasNotifications = true;
        asm.notify(NOTIFY_RING);
      };
      suspension?.writeGate(() => counters.count('suspended'));
      const notify = suspension === null ? tell : () => suspension.want();
      const addEntry = () => {
        if (filled === null || filled.map.type === 'ring-buffer')
          throw new CounterpointError(
            'ERR_FORMAT_WAKE',
            `the format ${format.name} counts an entry, but its wake rule counts no entries`,
            "Plan wake: { kind: 'filled', map, entries } for it.",
          );
        countEntry(asm, filled.level, notify);
      };
      const leave = asm.beforeEnd;
      if (filled !== null) {
        const { map, level } = filled;
        asm.afterInsert = ({ name }) =>
          name === map.name && map.type !== 'ring-buffer' ? addEntry : undefined;
        if (map.type === 'ring-buffer') {
          asm.needsEnd = () => leave !== null || asm.uses(map);
          asm.beforeEnd = () => {
            wakeAtFilledRing(asm, map, level, notify);
            leave?.();
          };
        }
      }
      if (suspension !== null) {
        const { beforeEnd } = asm;
        asm.needsEnd = () => true;
        asm.beforeEnd = () => {
          beforeEnd?.();
          suspension.writeEnd(tell);
        };
        asm.keepsNoRecord = {
          code: 'ERR_FORMAT_SUSPEND',
          message: `the format ${format.name} suspends its counters, so its handlers cannot keep records: a kept record is what stops the counter`,
          remedy: 'Write your own record into a ring buffer, or add the format ring to the recording.',
        };
      }
      const returned = body({
        programType: type,
        // A handler has done it before its run was counted.
        onlyTarget: () => {
          if (index >= handlerCount) filter.writeTo(asm);
        },
        loadBeginNs: (destination) => {
          heedsBegin = true;
          loadBeginNs(asm, destination);
        },
        onlyBeforeEnd: () => exitAfterEnd(asm),
        countLoss: (reason) => counters.count(reason),
        notify,
        countEntry: addEntry,
      });
      refuseUnfinished(format, what, returned, asm.lastLine);
      asm.end();
      return asm.assemble();
    } catch (error) {
      throw explainThrown(format, error, {
        code: 'ERR_FORMAT_HANDLER',
        did: `threw while ${what} was assembled`,
        remedy: 'Nothing was loaded.',
      });
    }
  };
  const isGuarded = handlerCount > 0 && events.some((event) => handlerType(event) === 'kprobe');
  const handlers = Array.from({ length: handlerCount }, (_, index) => {
    const opened = events[index]!;
    const { name: eventName, attr, tracepoint, hitsPerOverflow = 1 } = opened;
    const bitsOfOthers = attr.sampleType & ~openedSampleType(opened);
    const type = handlerType(opened);
    const fields = type === 'tracepoint' ? fieldsOf(tracepoint) : [];
    const asm = new FormatAssembler({ name: `${format.name}_${index}`, type, fields });
    asm.hitsPerOverflow = hitsPerOverflow;
    const waitForOverflow = () => {
      // It runs for every process. Any other event is of the target alone.
      if (type !== 'perf-event') filter.writeTo(asm);
      if (isGuarded) {
        enterGuard(asm, type === 'perf-event' ? 0 : 1, () => countInterrupting(asm, losses, index));
        asm.beforeEnd = () => leaveGuard(asm);
      }
      if (hitsPerOverflow > 1) exitBelow(asm, { event: index, events: handlerCount, hits: hitsPerOverflow });
    };
    const body = (context: ProgramContext) => {
      if ((bitsOfOthers & CALLCHAIN) !== 0n && asm.keepsNoRecord === null)
        asm.keepsNoRecord = {
          code: 'ERR_FORMAT_EVENT',
          message: `the format ${format.name} keeps records of the kernel, which would have no call chains: its plan says that the handler finds them`,
          remedy: 'Leave out isFoundByHandler of plan().callchains, or keep no records.',
        };
      else if (bitsOfOthers !== 0n && asm.keepsNoRecord === null)
        asm.keepsNoRecord = {
          code: 'ERR_FORMAT_EVENT',
          message: `the format ${format.name} keeps records of the kernel, which would not say their period of ${attr.samplePeriodOrFreq}: with the period in them, the kernel would take each hit of ${eventName} for an overflow`,
          remedy: 'Give it a period of 1 (-c 1) or a frequency (-F), or use the format ring.',
        };
      if (wake.kind === 'every')
        wakeEvery(asm, { event: index, events: handlerCount, count: wake.count }, context.notify);
      const handler: HandlerContext<never> = {
        ...context,
        options: options as never,
        event: index,
        eventName,
        attr,
        isChainFoundByHandler: (bitsOfOthers & CALLCHAIN) !== 0n,
      };
      return format.onOverflow?.(asm, handler);
    };
    return write(`the handler of ${eventName}`, asm, type, index, body, waitForOverflow);
  });
  const writeProgram = (program: FormatProgram, index: number): AssembledProgram => {
    const { type, fields } = programShape(program);
    const asm = new FormatAssembler({ name: program.name, type, fields });
    const written = write(`the program ${program.name}`, asm, type, handlerCount + index, (context) =>
      program.assemble(asm, context),
    );
    return { program: written, attach: program.attach };
  };
  const programs = planned.map(writeProgram);
  // Whether it is needed is known when all others are written.
  for (const program of filter.programs()) programs.push(writeProgram(program, programs.length));
  return { handlers, programs, losses, hasNotifications, heedsBegin };
}

/** On a tracepoint or probe: end here, as if nothing had been, at all hits but every Nth on a CPU. */
function exitBelow(
  asm: FormatAssembler,
  { event, events, hits }: { event: number; events: number; hits: number },
): void {
  everyNth(
    asm,
    runCounts('hits_so_far', events),
    event,
    hits,
    () => {},
    () => {
      asm.beforeEnd?.();
      asm.exitAtOnce(1);
    },
  );
}

/**
 * Of the program that handles an event's overflows. A program on a tracepoint or a probe is no
 * event's own: it sees every hit.
 */
function handlerType({ attr, probe = null }: PlannedEvent): BpfProgramType {
  if (probe !== null) return 'kprobe';
  return attr.type === PERF_TYPE_TRACEPOINT ? 'tracepoint' : 'perf-event';
}

function programShape({ attach }: FormatProgram): { type: BpfProgramType; fields: readonly ContextField[] } {
  return attach.kind === 'raw-tracepoint'
    ? { type: 'raw-tracepoint', fields: [] }
    : { type: 'tracepoint', fields: systemTracepoint(attach.system, attach.name).fields };
}

function fieldsOf(tracepoint: PlannedEvent['tracepoint']): readonly ContextField[] {
  return tracepoint === null ? [] : systemTracepoint(tracepoint.system, tracepoint.name).fields;
}
