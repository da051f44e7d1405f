import { readFileSync } from 'node:fs';

let functions: ReadonlySet<string> | null = null;

/**
 * Names of the kernel's own functions, modules included; empty where /proc/kallsyms is not for us. Addresses,
 * which are often hidden, do not matter.
 */
export function kernelFunctions(): ReadonlySet<string> {
  functions ??= new Set(
    readSymbols()
      .split('\n')
      .flatMap((line) => /^[0-9a-f]+ [tTwW] ([^\s]+)/.exec(line)?.[1] ?? []),
  );
  return functions;
}

function readSymbols(): string {
  try {
    return readFileSync('/proc/kallsyms', 'latin1');
  } catch {
    return '';
  }
}
