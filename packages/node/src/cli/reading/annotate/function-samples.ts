/** Which functions have samples of their own, and on which addresses those fell. */
import { NONE, type Profile } from '@counterpoint/core/profile';

export interface Hits {
  samples: number;
  /** Sum of the periods of the samples. */
  period: number;
}

/** A function with the samples of one event in it; callers that only wait for it have none. */
export interface FunctionSamples extends Hits {
  readonly event: number;
  readonly symbol: string;
  /** Row of `Profile.binaries`. */
  readonly binary: number;
  /** A process that had the binary mapped; -1 for the kernel. */
  readonly pid: number;
  /** Where the function begins, in the binary's terms: file offset, or address of kernel and JIT code. */
  readonly start: number;
  /** Name of the copy, of a function that a JIT compiler made. */
  readonly recordedName: string | null;
  /** By distance from `start`, in bytes. */
  readonly byOffset: Map<number, Hits>;
}

/** All functions with samples, the hottest of each event first. */
export function functionSamples(profile: Profile): FunctionSamples[] {
  const { samples, stacks } = profile;
  const found = new Map<string, FunctionSamples>();
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    if (stack === NONE) continue;
    const frame = stacks.frame.at(stack);
    const symbol = profile.frames.symbol.at(frame);
    if (symbol === NONE) continue;
    const event = samples.event.at(row);
    // A JIT compiler makes several copies of a function, each with instructions of its own.
    const copy = profile.frames.jitCode.at(frame);
    const key = `${event} ${symbol} ${copy}`;
    let one = found.get(key);
    if (one === undefined) found.set(key, (one = newFunction(profile, event, frame, samples.thread.at(row))));
    addHits(one, profile.frames.symbolOffset.at(frame), samples.count.at(row), samples.weight.at(row));
  }
  return [...found.values()].sort(
    (a, b) =>
      a.event - b.event || b.period - a.period || b.samples - a.samples || (a.symbol < b.symbol ? -1 : 1),
  );
}

function newFunction(profile: Profile, event: number, frame: number, thread: number): FunctionSamples {
  const { frames, symbols, strings, binaries, threads, jitCode } = profile;
  const binary = frames.binary.at(frame);
  const { kind } = binaries[binary]!;
  const copy = frames.jitCode.at(frame);
  const address = frames.addressHi.at(frame) * 2 ** 32 + (frames.addressLo.at(frame) >>> 0);
  return {
    event,
    symbol: strings.get(symbols.name.at(frames.symbol.at(frame))),
    binary,
    pid: kind === 'kernel' || kind === 'module' ? -1 : threads.pid.at(thread),
    start: copy === NONE ? address - frames.symbolOffset.at(frame) : jitCode.start.at(copy),
    recordedName: copy === NONE ? null : strings.get(jitCode.recordedName.at(copy)),
    byOffset: new Map(),
    samples: 0,
    period: 0,
  };
}

function addHits(one: FunctionSamples, offset: number, samples: number, period: number): void {
  let hits = one.byOffset.get(offset);
  if (hits === undefined) one.byOffset.set(offset, (hits = { samples: 0, period: 0 }));
  hits.samples += samples;
  hits.period += period;
  one.samples += samples;
  one.period += period;
}

/** The forms that a function answers to: `ns::work(int)`, `ns::work`; of JavaScript also the name alone. */
export function namesOf(symbol: string): string[] {
  const names = [symbol];
  const script = /^(?:JS|Wasm|Script|RegExp):(?:[*~^+]*)(.*)$/.exec(symbol);
  if (script !== null) names.push(script[1]!, script[1]!.replace(/ \S*$/, ''));
  const open = parameterStart(symbol);
  if (open > 0) names.push(symbol.slice(0, open));
  return names;
}

/** Where the list of parameters of a C++ function begins: the parenthesis of the last pair; -1 without. */
function parameterStart(symbol: string): number {
  const end = symbol.replace(/(?: const| volatile| &&?| \[clone [^\]]*\])+$/, '');
  if (!end.endsWith(')')) return -1;
  let depth = 0;
  for (let at = end.length - 1; at >= 0; at--) {
    if (end[at] === ')') depth++;
    else if (end[at] === '(' && --depth === 0) return at;
  }
  return -1;
}
