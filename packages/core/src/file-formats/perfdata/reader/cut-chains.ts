import { PERF_MAX_STACK_DEPTH } from '../../../format/abi/index.ts';
import {
  addressesOfChain,
  isChainMarker,
  limitedLength,
  type SampleFields,
} from '../../../format/records/index.ts';
import type { RecordedEvent } from './event-table.ts';

/** Different outermost callers of an event's deepest chains that are followed. */
const MAX_ENDS = 32;
/** So many chains, and such a part of the deepest ones, have to be seen to be cut. */
const LEAST_CUT = 4;
const LEAST_SHARE = 1 / 4;
/**
 * Nobody sets the kernel's limit lower. Without frame pointers chains are short, and end anywhere: such a
 * handful would look as if it went on.
 */
const LEAST_LIMIT = 16;

/** Chains of an event that were cut, and when. Times are NaN where samples have none. */
export interface CutChainsOfEvent {
  event: RecordedEvent;
  samples: number;
  firstNs: number;
  lastNs: number;
  /** False where the limit is found from the chains: there may be more. */
  exact: boolean;
}

/** An address with which chains of a process end. */
interface End {
  pid: number;
  lo: number;
  hi: number;
  samples: number;
  /** It has a caller in another chain as deep: so it was not the outermost one here. */
  hasCaller: boolean;
}

/** The deepest chains of an event. */
interface Deepest {
  addresses: number;
  samples: number;
  firstNs: number;
  lastNs: number;
  ends: End[];
}

/**
 * Finds the call chains that the kernel cut at its limit of depth. The limit stands in the attr where the
 * recorder asked for one; else it is the kernel's own setting (kernel.perf_event_max_stack), which no part of
 * a file tells. No chain is deeper than it, so it is as deep as the deepest one at least:
 *
 *     deepest = 127   the kernel's default: chains of 127 are cut
 *     deepest = 20    the limit is 20, if chains of 20 end where they should go on; else these are whole
 *     deepest = 300   the limit was raised to 300 or more: the same question, and those of 127 are whole
 *
 * A chain ends where it should go on if its last address has a caller in another chain of the same process.
 */
export class CutChains {
  readonly #byEvent = new Map<RecordedEvent, Deepest>();
  readonly #features: { osRelease?: string };
  #lengthOf: typeof addressesOfChain | null = null;

  /** `features` are those of the recording; a stream has them by the first sample. */
  constructor(features: { osRelease?: string }) {
    this.#features = features;
  }

  /** A sample of `event`, with the chain that `fields` locates. */
  sample(view: DataView, event: RecordedEvent, fields: SampleFields, le: boolean, timeNs: number): void {
    const { chainOffset, chainCount, pid } = fields;
    const limit = event.attr.sampleMaxStack;
    let deepest = this.#byEvent.get(event);
    if (chainCount === 0 || chainCount < (deepest?.addresses ?? limit)) return;
    this.#lengthOf ??= countsMarkers(this.#features.osRelease) ? wordsOfChain : addressesOfChain;
    const addresses =
      limit === 0
        ? this.#lengthOf(view, chainOffset, chainCount, le)
        : limitedLength(view, chainOffset, chainCount, limit, le);
    if (addresses < (deepest?.addresses ?? limit)) return;
    if (deepest === undefined || (limit === 0 && addresses > deepest.addresses)) {
      deepest = { addresses: limit || addresses, samples: 0, firstNs: timeNs, lastNs: timeNs, ends: [] };
      this.#byEvent.set(event, deepest);
    }
    deepest.samples++;
    deepest.lastNs = timeNs;
    if (limit === 0 && addresses !== PERF_MAX_STACK_DEPTH)
      followEnds(deepest.ends, pid, view, chainOffset, chainCount, le);
  }

  /** What was cut, as far as all samples tell. */
  *list(): Generator<CutChainsOfEvent> {
    // One setting holds for all events.
    let most = 0;
    for (const [{ attr }, { addresses }] of this.#byEvent)
      if (attr.sampleMaxStack === 0 && addresses > most) most = addresses;
    for (const [event, { addresses, samples, firstNs, lastNs, ends }] of this.#byEvent) {
      const isAsked = event.attr.sampleMaxStack !== 0;
      if (!isAsked && addresses < most) continue;
      const range = { event, firstNs, lastNs };
      if (isAsked || addresses === PERF_MAX_STACK_DEPTH) yield { ...range, samples, exact: true };
      else if (addresses >= LEAST_LIMIT) {
        const cut = ends.reduce((sum, end) => sum + (end.hasCaller ? end.samples : 0), 0);
        if (cut >= LEAST_CUT && cut >= samples * LEAST_SHARE) yield { ...range, samples: cut, exact: false };
      }
    }
  }
}

/** Before Linux 4.8 markers had their places in the 127. */
function countsMarkers(osRelease: string | undefined): boolean {
  const [, major, minor] = (/^(\d+)\.(\d+)/.exec(osRelease ?? '') ?? []).map(Number);
  return major !== undefined && (major < 4 || (major === 4 && minor! < 8));
}

function wordsOfChain(_view: DataView, _offset: number, count: number): number {
  return count;
}

function followEnds(
  ends: End[],
  pid: number,
  view: DataView,
  offset: number,
  count: number,
  le: boolean,
): void {
  const [low, high] = le ? [0, 4] : [4, 0];
  const last = offset + (count - 1) * 8;
  const [lo, hi] = [view.getUint32(last + low, le), view.getUint32(last + high, le)];
  let own = ends.find((end) => end.pid === pid && end.lo === lo && end.hi === hi);
  if (own === undefined && ends.length < MAX_ENDS) {
    own = { pid, lo, hi, samples: 0, hasCaller: false };
    ends.push(own);
  }
  if (own !== undefined) own.samples++;
  for (const end of ends) {
    if (end.hasCaller || end.pid !== pid) continue;
    for (let at = offset; at < last; at += 8)
      // What stands before a marker ends its part.
      if (
        view.getUint32(at + low, le) === end.lo &&
        view.getUint32(at + high, le) === end.hi &&
        !isChainMarker(view, at + 8, le)
      ) {
        end.hasCaller = true;
        break;
      }
  }
}
