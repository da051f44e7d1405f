import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  BpfAssembler,
  type BpfMapDefinition,
  type BpfProgram,
  type BpfProgramType,
  type ContextField,
  r0,
  r1,
  r2,
  r6,
  u32,
} from '../bpf/index.ts';
import { systemTracepoint } from '../pmu/index.ts';
import type { SessionEvent } from '../session/index.ts';
import type { FormatPlan, FormatProgram, HandlerContext, ProgramContext, SamplingFormat } from './format.ts';
import { lossMap, ProgramLossCounters } from './loss-counters.ts';
import type { TargetFilter } from './target-filter.ts';

/** Where `context.notify()` and wake rules speak to `collect`: notes of 8 bytes, so this is plenty. */
export const NOTIFY_RING: BpfMapDefinition = {
  name: 'notify',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: 4096,
};

/** Overflows since the last notification, for each event on each CPU. */
const WAKE_COUNTS = {
  name: 'wake_counts',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: 4,
} as const satisfies Partial<BpfMapDefinition>;

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
}

export function assembleFormat(
  format: SamplingFormat,
  options: Readonly<Record<string, unknown>>,
  plan: FormatPlan,
  events: readonly SessionEvent[],
  filter: TargetFilter,
): AssembledFormat {
  const { programs: planned = [], wake = { kind: 'never' } } = plan;
  const handlerCount = format.onOverflow === undefined ? 0 : events.length;
  const losses = lossMap(handlerCount + planned.length + MOST_FILTER_PROGRAMS);
  let hasNotifications = false;
  const write = (
    what: string,
    asm: FormatAssembler,
    type: BpfProgramType,
    index: number,
    body: (context: ProgramContext) => void,
  ): BpfProgram => {
    try {
      asm.saveContext(r6);
      const counters = new ProgramLossCounters(asm, losses, index, type === 'perf-event');
      body({
        programType: type,
        // Any other event is of the target alone.
        onlyTarget: () => {
          if (type !== 'perf-event') filter.writeTo(asm);
        },
        countLoss: (reason) => counters.count(reason),
        notify: () => {
          hasNotifications = true;
          asm.notify(NOTIFY_RING);
        },
      });
      asm.end();
      return asm.assemble();
    } catch (error) {
      throw explain(format, what, error);
    }
  };
  const handlers = Array.from({ length: handlerCount }, (_, index) => {
    const { name: eventName, attr, tracepoint } = events[index]!;
    const isTracepoint = attr.type === PERF_TYPE_TRACEPOINT;
    const fields = isTracepoint ? fieldsOf(tracepoint) : [];
    const type = isTracepoint ? 'tracepoint' : 'perf-event';
    const asm = new FormatAssembler({ name: `${format.name}_${index}`, type, fields });
    return write(`the handler of ${eventName}`, asm, type, index, (context) => {
      if (wake.kind === 'every') wakeEvery(asm, context, index, handlerCount, wake.count);
      const handler: HandlerContext<never> = {
        ...context,
        options: options as never,
        event: index,
        eventName,
        attr,
      };
      format.onOverflow?.(asm, handler);
    });
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
  return { handlers, programs, losses, hasNotifications };
}

/** An assembler that ends what its author left open. */
class FormatAssembler extends BpfAssembler {
  /** A handler that comes to its end keeps nothing; on a tracepoint, others want the record. */
  end(): void {
    if (this.code.isReachable) this.return(this.options.type === 'perf-event' ? 0 : 1);
  }
}

function programShape({ attach }: FormatProgram): { type: BpfProgramType; fields: readonly ContextField[] } {
  return attach.kind === 'raw-tracepoint'
    ? { type: 'raw-tracepoint', fields: [] }
    : { type: 'tracepoint', fields: systemTracepoint(attach.system, attach.name).fields };
}

function fieldsOf(tracepoint: SessionEvent['tracepoint']): readonly ContextField[] {
  return tracepoint === null ? [] : systemTracepoint(tracepoint.system, tracepoint.name).fields;
}

/** Count, and notify at each `count`-th run on a CPU. */
function wakeEvery(
  asm: BpfAssembler,
  context: ProgramContext,
  event: number,
  events: number,
  count: number,
): void {
  asm.mapLookup({ ...WAKE_COUNTS, maxEntries: events }, event);
  asm.ifNotNull(r0, () => {
    const counter = u32(r0, 0);
    asm.load(r1, counter);
    asm.add(r1, 1);
    asm.move(r2, 0);
    asm.if(
      r1,
      '>=',
      count,
      () => {
        asm.store(counter, r2);
        context.notify();
      },
      () => asm.store(counter, r1),
    );
  });
}

/** Errors of the assembler say their line; anything else that a format's function throws is the format's. */
function explain(format: SamplingFormat, what: string, error: unknown): unknown {
  if (error instanceof CounterpointError) return error;
  const thrown = error instanceof Error ? error.message : String(error);
  const explained = new CounterpointError(
    'ERR_FORMAT_HANDLER',
    `the sampling format ${format.name} threw while ${what} was assembled: ${thrown}`,
    'Nothing was loaded.',
  );
  explained.cause = error;
  return explained;
}
