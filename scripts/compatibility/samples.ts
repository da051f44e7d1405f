import { MODE_KERNEL, NONE, type Profile } from '@counterpoint/core/profile';

export interface SampledFunction {
  /** `fibHot`; of what is not JavaScript the symbol. */
  name: string;
  /** The file of the function, and its first line, as the name tells. */
  file: string;
  firstLine: number;
  /** Of the code that ran; 0: not known. */
  line: number;
}

/** Functions of user space, innermost first, of each sample that has a stack. */
export function sampledStacks(profile: Profile): SampledFunction[][] {
  const { frames, samples, stacks } = profile;
  const all: SampledFunction[][] = [];
  for (let row = 0; row < samples.length; row++) {
    const found: SampledFunction[] = [];
    for (let stack = samples.stack.at(row); stack !== NONE; stack = stacks.prefix.at(stack)) {
      const frame = stacks.frame.at(stack);
      if (frames.mode.at(frame) !== MODE_KERNEL) found.push(functionOf(profile, frame));
    }
    all.push(found);
  }
  return all;
}

function functionOf({ frames, sources, strings, symbols }: Profile, frame: number): SampledFunction {
  const symbol = frames.symbol.at(frame);
  const text = symbol === NONE ? '' : strings.get(symbols.name.at(symbol));
  const source = frames.source.at(frame);
  const parts = /^(?:JS|Wasm):(\S+)(?: (.*?)(?::(\d+):\d+)?)?$/.exec(text);
  return {
    name: parts?.[1] ?? text,
    file: parts?.[2] ?? '',
    firstLine: Number(parts?.[3] ?? 0),
    line: source === NONE ? 0 : sources.line.at(source),
  };
}
