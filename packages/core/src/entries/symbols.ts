/** Addresses to names: symbol tables, kallsyms, perf maps, demangling. */
export {
  type CodeBinary,
  CodeSymbols,
  type DemangleOptions,
  demangle,
  type FileNeed,
  type FileRequest,
  type LoadOptions,
  loadCodeSymbols,
  type OpenedFile,
  type SymbolDriver,
} from '../code/symbols/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  type CodeSources,
  type ElfTable,
  elfCodeSymbols,
  loadCodeSources,
  type SourceFrame,
} from '../code/symbols/index.ts';
