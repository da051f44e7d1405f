import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { shownValue } from '../../../host/options/index.ts';
import type { CountedEvent, OverflowControl, OverflowRequest } from './types.ts';

/** Put the requests on the events of a set that they name. */
export function requestOverflows(
  events: readonly CountedEvent[],
  requests: readonly OverflowRequest[],
): void {
  for (const request of requests)
    for (const event of events) {
      if (event.requestedName !== request.event) continue;
      if (event.tool !== null)
        throw refuseOverflow(
          request.event,
          'cannot be reported: the tool measures it, the kernel does not count it',
          'Take an event of the kernel, such as task-clock.',
        );
      event.overflow = controlOf(request);
    }
}

/** Throws where no set has the event of a request, or two are for the same one. */
export function requireOverflowEvents(requests: readonly OverflowRequest[], names: readonly string[]): void {
  requests.forEach((request, index) => {
    if (!names.includes(request.event)) throw noSuchEvent(request, names);
    if (requests.findIndex(({ event }) => event === request.event) === index) return;
    throw new CounterpointError(
      'ERR_OVERFLOW',
      `the overflow of ${request.event} is requested twice, but a counter has one period`,
      'Request it once; if it switches sets, overflows() reports it, too. For another period, count it under another name: EVENT/name=…/.',
    );
  });
}

function noSuchEvent(request: OverflowRequest, names: readonly string[]): CounterpointError {
  return new CounterpointError(
    'ERR_NO_OVERFLOW_EVENT',
    `overflow of ${request.event} is requested, but no event set counts it${didYouMean(nearestNames(request.event, names))}`,
    `Counted are: ${names.join(', ')}.`,
  );
}

function controlOf({
  event,
  period,
  initialPeriod = period,
  randomMask = 0,
  action = 'notify',
  signal,
}: OverflowRequest): OverflowControl {
  if (action !== 'notify' && action !== 'suspend')
    throw refuseOverflow(
      event,
      `cannot ${action}: it can only notify or suspend`,
      "Give action: 'notify' or 'suspend'.",
    );
  if (signal !== undefined && (typeof signal !== 'object' || signal === null))
    throw refuseOverflow(
      event,
      `cannot send ${String(signal)}: a signal is { number, tid }`,
      'Give signal as { number: 10, tid: 1234 }.',
    );
  if (signal !== undefined && !(Number.isSafeInteger(signal.tid) && signal.tid >= 1))
    throw refuseOverflow(
      event,
      `cannot send a signal to ${signal.tid}: tid should be the number of a thread`,
      'Give the number of a thread of this process: ls /proc/self/task.',
    );
  if (
    signal !== undefined &&
    !(Number.isSafeInteger(signal.number) && signal.number >= 1 && signal.number <= 64)
  )
    throw refuseOverflow(
      event,
      `cannot send the signal ${signal.number}`,
      'Give a number from 1 to 64, such as os.constants.signals.SIGUSR1.',
    );
  if (!(Number.isSafeInteger(randomMask) && randomMask >= 0 && randomMask <= MOST_RANDOM))
    throw refuseOverflow(
      event,
      `cannot have the random bits ${randomMask}: the mask must be below 2^32`,
      'Give a whole number from 0 to 4294967295.',
    );
  if (randomMask > 0 && action !== 'suspend')
    throw refuseOverflow(
      event,
      'can have random periods only with suspend, not while it goes on counting',
      "Add action: 'suspend', or leave out randomMask.",
    );
  const control: OverflowControl = {
    initialPeriod: toPeriod(event, initialPeriod),
    restartPeriod: toPeriod(event, period),
    randomMask: BigInt(randomMask),
    action,
    signal: signal ?? null,
  };
  return control;
}

/** The attr of an event that overflows, from that of one that only counts. */
export function setOverflowAttr(
  attr: PerfEventAttr,
  { initialPeriod, restartPeriod, action }: OverflowControl,
  event: string,
): void {
  if (attr.flags.inherit === 1 && initialPeriod !== restartPeriod) {
    throw new CounterpointError(
      'ERR_PERIOD',
      `${event} cannot have an initial period and follow new threads, because each thread begins anew`,
      'Count without inherit, or leave out initialPeriod.',
    );
  }
  if (action === 'suspend' && attr.flags.inherit === 1) {
    throw new CounterpointError(
      'ERR_SUSPEND_INHERITED',
      `${event} cannot be suspended at its overflow and follow new threads: the kernel does not support it`,
      'Count without inherit; each existing thread of the target then has its own counter.',
    );
  }
  if (action === 'suspend' && attr.type === PERF_TYPE_TRACEPOINT) {
    throw new CounterpointError(
      'ERR_SUSPEND_TRACEPOINT',
      `${event} cannot be suspended at its overflow: the kernel cannot restart a tracepoint (Linux 6.18)`,
      'Use notify, or suspend by another event of the set.',
    );
  }
  attr.samplePeriodOrFreq = initialPeriod;
  attr.wakeupEventsOrWatermark = 1;
  // Not the period: asked for it, the kernel samples every single count of a software event.
  let bits = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  // Before Linux 6.12 the kernel cannot read an inherited event into its sample.
  if (attr.flags.inherit === 0) bits |= PERF_SAMPLE_READ;
  attr.sampleType = BigInt(bits);
}

const MOST_RANDOM = 2 ** 32 - 1;

/** The period after an overflow. */
export function nextPeriod({ restartPeriod, randomMask }: OverflowControl): bigint {
  if (randomMask === 0n) return restartPeriod;
  return restartPeriod + (BigInt(Math.floor(Math.random() * (MOST_RANDOM + 1))) & randomMask);
}

/** The kernel takes periods of 63 bits. */
const MOST_PERIOD = (1n << 63n) - 1n;

function toPeriod(event: string, given: bigint | number): bigint {
  if (
    typeof given === 'bigint'
      ? given >= 1n && given <= MOST_PERIOD
      : Number.isSafeInteger(given) && given >= 1
  )
    return BigInt(given);
  throw new CounterpointError(
    'ERR_PERIOD',
    `an overflow of ${event} needs a period from 1 to 2^63 - 1, not ${shownValue(given)}`,
    'Give period: how many events make one overflow, such as 100000.',
  );
}

function refuseOverflow(event: string, why: string, remedy: string): CounterpointError {
  return new CounterpointError('ERR_OVERFLOW', `the overflow of ${event} ${why}`, remedy);
}
