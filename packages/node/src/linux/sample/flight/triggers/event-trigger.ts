import {
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_TID,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { RecordScan } from '@counterpoint/core/ring';
import {
  openSampledEvents,
  type PlannedEvent,
  planEvents,
  planOpen,
} from '../../../kernel/perf-events/index.ts';
import { RingReader } from '../../reader/index.ts';
import { resolveEvents } from '../../record/index.ts';
import { HeldHits } from './held-hits.ts';
import {
  badTrigger,
  noTrigger,
  type StartTrigger,
  type TriggerContext,
  type TriggerKind,
} from './trigger.ts';

const RING_PAGES = 2;
const MOST_COUNT = 2 ** 53;

/** What comes with every trigger by an event. */
interface EventWait {
  text: string;
  count: number;
  /** What the kernel lets through, for a tracepoint. */
  filter?: string;
  /** What a hit of a tracepoint was, behind `text`. */
  describe?(hit: TracepointHit, context: TriggerContext): string;
}

/** Who hit a tracepoint, and its fields as its file `format` says. */
export interface TracepointHit {
  pid: number;
  tid: number;
  fields: DataView<ArrayBuffer>;
}

/** `header | id | pid u32, tid u32 | size u32, fields`. */
const HIT_PID_AT = 16;
const HIT_SIZE_AT = 24;
const HIT_FIELDS_AT = 28;

export const EVENT: TriggerKind = {
  name: 'event',
  form: 'event:EVENT[:N]',
  help: 'an event happened N times (default 1) in one thread or on one CPU',
  example: 'event:syscalls:sys_enter_fsync',
  async parse(argument, text) {
    if (argument === null || argument === '')
      throw badTrigger(text, 'it needs an event', 'Give one as -e takes it: event:sched:sched_process_exec.');
    const match = /^(.*):(\d+)$/.exec(argument);
    const [name, count] = match === null ? [argument, 1] : [match[1]!, Number(match[2])];
    if (count < 1 || count > MOST_COUNT) throw badTrigger(text, 'a count is from 1', 'Give event:EVENT:N.');
    return { text, start: waitFor(await oneEvent(name, text), { text, count }) };
  },
};

export const FIELD: TriggerKind = {
  name: 'field',
  form: 'field:SYSTEM:NAME:EXPR',
  help: 'a tracepoint whose fields fulfil a filter of the kernel',
  example: "field:sched:sched_process_exit:comm=='worker'",
  async parse(argument, text) {
    const [, name, filter] = /^([^:]+:[^:]+):(.+)$/s.exec(argument ?? '') ?? [];
    if (name === undefined || filter === undefined)
      throw badTrigger(
        text,
        'it needs a tracepoint and a filter',
        "Give field:SYSTEM:NAME:EXPR, such as field:syscalls:sys_exit_openat:ret==-2; a tracepoint's file format lists its fields.",
      );
    return { text, start: waitFor(await oneEvent(name, text), { text, count: 1, filter }) };
  },
};

async function oneEvent(name: string, text: string): Promise<ParsedEvent> {
  const [event, ...others] = await resolveEvents([name]);
  if (event === undefined || others.length > 0)
    throw badTrigger(text, 'it names several events', 'Give a trigger for each event (repeat --on).');
  return event;
}

/** Sampled with a period of N, into a small ring of its own that wakes at once. */
export function waitFor(event: ParsedEvent, { text, count, filter, describe }: EventWait): StartTrigger {
  return (context) => {
    const { sys, target, scope, inherit, fire, closedMs, fail } = context;
    const planned = planEvents([event], {
      frequency: 1,
      period: BigInt(count),
      isRateGiven: true,
      callchains: 'none',
      inherit,
      wholeCpus: scope.kind === 'cpus',
      enableOnExec: scope.kind === 'command',
      startsLater: false,
      levels: 'all',
    })
      // Of whole CPUs an event for records of mappings comes along: nobody reads them here.
      .filter(({ isSideband }) => !isSideband)
      .map((one) => wakingAtOnce(one, filter, describe !== undefined));
    const sampled = openSampledEvents(sys, planOpen(planned, target, RING_PAGES, 1));
    // N of something else is something else.
    const replaced = sampled.events
      .flatMap(({ changes }) => changes)
      .find((one) => one.kind === 'event-replaced');
    if (replaced !== undefined) {
      sampled.close();
      throw noTrigger(text, replaced.why, 'Give an event that this machine has: counterpoint list.');
    }
    const held = new HeldHits(sys, sampled, BigInt(count));
    let isDue = false;
    const scan = new RecordScan([PERF_RECORD_SAMPLE], (_, view, offset, size) => {
      held.countSeen();
      const hit = describe === undefined ? null : hitAt(view, offset, size);
      fire(hit === null ? text : `${text}: ${describe!(hit, context)}`, hit?.pid);
      if (!isDue) queueMicrotask(holdBack);
      isDue = true;
    });
    const reader = new RingReader(sys, sampled, scan, { writeRound: () => {} }, { flushIntervalMs: 0 });
    function holdBack(): void {
      isDue = false;
      // What came before the rings stood still is not to fire when they go on.
      if (!isDisposed && held.hold(closedMs)) reader.readNow();
    }
    reader.ended.then((end) => {
      if (end.reason === 'failed') fail(end.error);
    });
    reader.start();
    sampled.enable();
    let isDisposed = false;
    let heldAtEnd = 0;
    return {
      takeHeldBack: () => (isDisposed ? heldAtEnd : held.takeCount()),
      [Symbol.dispose]: () => {
        reader.readNow();
        isDisposed = true;
        heldAtEnd = held.takeCount();
        held[Symbol.dispose]();
        reader[Symbol.dispose]();
        sampled.close();
      },
    };
  };
}

function hitAt(view: DataView<ArrayBuffer>, offset: number, size: number): TracepointHit {
  const [pid, tid] = [view.getInt32(offset + HIT_PID_AT, true), view.getInt32(offset + HIT_PID_AT + 4, true)];
  const length = Math.min(view.getUint32(offset + HIT_SIZE_AT, true), size - HIT_FIELDS_AT);
  return { pid, tid, fields: new DataView(view.buffer, view.byteOffset + offset + HIT_FIELDS_AT, length) };
}

function wakingAtOnce(planned: PlannedEvent, filter: string | undefined, isDescribed: boolean): PlannedEvent {
  if (filter !== undefined && planned.tracepoint === null)
    throw new CounterpointError(
      'ERR_TRIGGER',
      `${planned.name} is not a tracepoint, so it has no fields`,
      'counterpoint list tracepoint shows those of this machine.',
    );
  const { attr } = planned;
  attr.flags.watermark = 0;
  attr.wakeupEventsOrWatermark = 1;
  // With PERF_SAMPLE_PERIOD the kernel makes a sample of each hit, whatever the period (perf_swevent_event).
  attr.sampleType = BigInt(PERF_SAMPLE_IDENTIFIER | (isDescribed ? PERF_SAMPLE_TID | PERF_SAMPLE_RAW : 0));
  // Only the hits matter here.
  Object.assign(attr.flags, { mmap: 0, mmap2: 0, comm: 0, commExec: 0, task: 0, ksymbol: 0, bpfEvent: 0 });
  return filter === undefined ? planned : { ...planned, filter };
}
