import { MODE_KERNEL, NONE, type Profile } from '@counterpoint/core/profile';

/** Names of functions of the program, outermost first; what is not JavaScript is left out. */
export function javascriptStack({ frames, stacks, strings, symbols }: Profile, innermost: number): string[] {
  const names: string[] = [];
  for (let stack = innermost; stack !== NONE; stack = stacks.prefix.at(stack)) {
    const frame = stacks.frame.at(stack);
    const symbol = frames.symbol.at(frame);
    const name = symbol === NONE ? '' : strings.get(symbols.name.at(symbol));
    const found = /^JS:(\w+)/.exec(name);
    if (found !== null && frames.mode.at(frame) !== MODE_KERNEL) names.unshift(found[1]!);
  }
  return names;
}
