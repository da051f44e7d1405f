import { type MapTime, NAME_NOT_CERTAIN } from '@counterpoint/core/jit';

/** From the begin of one look to the end of the next one. */
export interface LookWindow {
  fromUs: number;
  toUs: number;
  /**
   * When the last collection before the second look was over, if V8 tells it, and
   * there was none in that look.
   */
  collectedUs?: number;
}

/** A piece of code that was found. */
export interface SeenCode {
  readonly start: number;
  readonly size: number;
  /** As a perf map writes it; empty: nobody knows it, or not yet. */
  name: string;
  /** Number of the window at whose end it was there first; -1: at the first look. */
  born: number;
  /** Number of the window at whose end it was no longer there. */
  gone: number;
}

interface MapEvent {
  timeUs: number;
  text: string;
}

/** What reports call code without a name. */
const JIT_WITHOUT_NAMES = '[JIT without names]';

/** Before all samples. */
const ALWAYS = 0;
/** Of `JS:*name place`: one mark is the compiler's. */
const TIER_END = 'JS:*'.length;
/** Around a time at which code went away more may have done so, of which nobody knew. */
const NEAR_US = 1_000_000;

/**
 * Which code was where and when, as far as someone who looks again and again can tell. Code that
 * nobody saw may have come and gone between two looks; but then the collector of garbage ran, and
 * it takes other code, too. So:
 *
 *     looks       0        1        2        3        4
 *     seen        A        A B      A        A C        D     nothing went away from 0 to 1: B counts from 0
 *     A           ──────────────────────────▌               C counts from 2, where the last collection was over
 *     B           ─────────▌                                B went away between 1 and 2: it counts until 1
 *     C                             ────────▌               A and C went away, so D counts from 4
 *     D                                              ───
 *
 * Near a time at which code went away, more of it may have been made and gone between any two looks.
 * Where V8 tells when its last collection was over (`collections.ts`), nothing has gone since: what a
 * look finds counts from then on.
 *
 * Where all that was ever seen at some addresses is of one function, which is compiled and thrown away again
 * and again, it is that one between two of its copies, too.
 *
 * At other times it is not certain whose code is at these addresses, and the map says so.
 */
export class CodeTimeline {
  readonly #windows: LookWindow[] = [];
  readonly #seen: SeenCode[] = [];
  readonly #mostPieces: number;

  constructor(mostPieces: number) {
    this.#mostPieces = mostPieces;
  }

  get length(): number {
    return this.#seen.length;
  }

  /** What is found and goes away from now on does so in that window. Windows ascend. */
  open(window: LookWindow): void {
    this.#windows.push(window);
  }

  /** Null: it is too much. */
  add(start: number, size: number): SeenCode | null {
    if (this.#seen.length >= this.#mostPieces) return null;
    const born = this.#windows.length - 1;
    const seen = { start, size, name: '', born, gone: Number.POSITIVE_INFINITY };
    this.#seen.push(seen);
    return seen;
  }

  /** Other code may have been in its place until the end of the last window. */
  bornLater(seen: SeenCode): void {
    seen.born = this.#windows.length - 1;
  }

  end(seen: SeenCode): void {
    seen.gone = this.#windows.length - 1;
  }

  /** The map, and when which of its lines counts. Nobody looked after `lastLookUs`. */
  map(lastLookUs: number): { text: string; times: MapTime[] } {
    const pieces = joined(this.#seen);
    const lastCollection = this.#collections(pieces);
    const copies = copiesOfOne(pieces);
    const events: MapEvent[] = [];
    // At one time the one that is written last holds.
    const named: MapEvent[] = [];
    for (const piece of pieces) {
      const others = copies.get(piece) ?? [];
      const followsCopy = others.some(({ gone }) => gone <= piece.born);
      const fromUs = followsCopy ? this.#windows[piece.born]!.fromUs : this.#fromUs(piece, lastCollection);
      const untilUs = this.#untilUs(piece, lastCollection, lastLookUs);
      const isLastCopy = !others.some(({ born }) => born >= piece.gone);
      if (fromUs !== ALWAYS && !followsCopy && piece.name !== '') events.push(uncertain(piece, ALWAYS));
      if (untilUs !== Number.POSITIVE_INFINITY && isLastCopy) events.push(uncertain(piece, untilUs));
      const isAlone = piece.name === '' && fromUs === ALWAYS && untilUs === Number.POSITIVE_INFINITY;
      const name = piece.name === '' ? JIT_WITHOUT_NAMES : piece.name;
      if ((fromUs < untilUs || !isLastCopy) && !isAlone)
        named.push({ timeUs: fromUs, text: mapLine(piece.start, piece.size, name) });
    }
    events.push(...named);
    return written(events);
  }

  /** By window: the end of the last one, up to it, in which code went away, or may have. */
  #collections(pieces: readonly SeenCode[]): number[] {
    const goneIn = [...new Set(pieces.map(({ gone }) => gone))].filter((row) => row < this.#windows.length);
    goneIn.sort((a, b) => a - b);
    let next = 0;
    let seenUs = Number.NEGATIVE_INFINITY;
    let lastUs = ALWAYS;
    return this.#windows.map(({ fromUs, toUs, collectedUs }, row) => {
      if (goneIn[next] === row) {
        seenUs = toUs;
        next++;
      }
      const nextUs = this.#windows[goneIn[next] ?? -1]?.fromUs ?? Number.POSITIVE_INFINITY;
      if (collectedUs !== undefined) lastUs = collectedUs;
      else if (fromUs < seenUs + NEAR_US || nextUs < toUs + NEAR_US) lastUs = toUs;
      return lastUs;
    });
  }

  /** From when on nothing else can have been there. */
  #fromUs({ born }: SeenCode, lastCollection: readonly number[]): number {
    return born < 0 ? ALWAYS : lastCollection[born]!;
  }

  /** Until when it was there for sure. Nobody looks behind the end of a process. */
  #untilUs({ gone }: SeenCode, lastCollection: readonly number[], lastLookUs: number): number {
    const window = this.#windows[gone];
    if (window !== undefined) return window.fromUs;
    const collectedUs = lastCollection.at(-1) ?? ALWAYS;
    return collectedUs !== ALWAYS && lastLookUs < collectedUs + NEAR_US
      ? lastLookUs
      : Number.POSITIVE_INFINITY;
  }
}

/**
 * Code whose first bytes have changed is the same if its function and its size are:
 * collectors move what it uses.
 */
function joined(seen: readonly SeenCode[]): SeenCode[] {
  const latest = new Map<number, SeenCode>();
  const pieces: SeenCode[] = [];
  for (const piece of seen) {
    const before = latest.get(piece.start);
    const isSame =
      before !== undefined &&
      before.gone === piece.born &&
      before.size === piece.size &&
      before.name === piece.name &&
      piece.name !== '';
    if (isSame) before.gone = piece.gone;
    else {
      const own = { ...piece };
      latest.set(piece.start, own);
      pieces.push(own);
    }
  }
  return pieces;
}

/** By piece: all that overlaps with it, where these are several, and all of one function. */
function copiesOfOne(pieces: readonly SeenCode[]): Map<SeenCode, SeenCode[]> {
  const copies = new Map<SeenCode, SeenCode[]>();
  const byStart = [...pieces].sort((a, b) => a.start - b.start);
  let group: SeenCode[] = [];
  let end = Number.NEGATIVE_INFINITY;
  const close = () => {
    const [first] = group;
    const isOne =
      first !== undefined && first.name !== '' && group.every((one) => isSameFunction(one, first));
    if (isOne && group.length > 1) for (const piece of group) copies.set(piece, group);
    group = [];
  };
  for (const piece of byStart) {
    if (piece.start >= end) close();
    group.push(piece);
    end = Math.max(end, piece.start + piece.size);
  }
  close();
  return copies;
}

/** Whichever compiler made the code. */
function isSameFunction(a: SeenCode, b: SeenCode): boolean {
  return a.name.slice(TIER_END) === b.name.slice(TIER_END);
}

function written(events: MapEvent[]): { text: string; times: MapTime[] } {
  events.sort((a, b) => a.timeUs - b.timeUs);
  const parts: string[] = [];
  const times: MapTime[] = [{ timeUs: ALWAYS, sizeBytes: 0 }];
  let sizeBytes = 0;
  for (const { timeUs, text } of events) {
    const last = times.at(-1)!;
    // Two of one time: the line counts from then on, and not from some time between two looks.
    if (last.timeUs !== timeUs) times.push({ timeUs, sizeBytes }, { timeUs, sizeBytes });
    sizeBytes += Buffer.byteLength(text);
    parts.push(text);
    times.at(-1)!.sizeBytes = sizeBytes;
  }
  return { text: parts.join(''), times };
}

function uncertain(piece: SeenCode, timeUs: number): MapEvent {
  return { timeUs, text: mapLine(piece.start, piece.size, NAME_NOT_CERTAIN) };
}

/** A name is one line, whatever a program calls its functions. */
export function mapLine(start: number, size: number, name: string): string {
  return `${start.toString(16)} ${size.toString(16)} ${name.replaceAll(/[\r\n]/g, ' ')}\n`;
}
