import { type Diagnostic, FormatError } from '../../base/index.ts';
import type { CodeSymbols } from './code-symbols.ts';
import { demangle } from './demangle/demangle.ts';
import type { SymbolDriver } from './driver.ts';
import type { CodeBinary, LoadContext, LoadOptions } from './load-context.ts';
import { loadElf } from './load-elf.ts';
import { loadKernel } from './load-kernel.ts';
import { loadPerfMap } from './load-perf-map.ts';

/**
 * The functions of a binary, or null where they cannot be known; then, and where only some are known,
 * `diagnostics` says why and what to do. Never gives names of another build than the recorded one.
 *
 * Addresses of the table: file offsets for `user` and `vdso`, memory addresses for the rest.
 */
export async function loadCodeSymbols(
  binary: CodeBinary,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
  options: LoadOptions = {},
): Promise<CodeSymbols | null> {
  const context: LoadContext = {
    binary,
    driver,
    options,
    diagnostics,
    demangle: options.demangle ?? ((name) => demangle(name)),
    report: (code, detail, remedy = '') => {
      diagnostics.push({ code, path: binary.path, detail, remedy });
    },
  };
  try {
    switch (binary.kind) {
      case 'user':
      case 'vdso':
        return await loadElf(context);
      case 'kernel':
      case 'module':
        return await loadKernel(context);
      case 'jit':
        return await loadPerfMap(context);
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof FormatError) context.report('damaged', `${error.code}: ${error.message}`);
    else if (isSystemError(error)) context.report('unreadable', `it cannot be read: ${error.message}`);
    else throw error;
    return null;
  }
}

/** An error of the host's files or network: those carry a code, programming mistakes do not. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
