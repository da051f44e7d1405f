/** Addresses to names: symbol tables, kallsyms, perf maps, demangling. */
export {
  type CodeBinary,
  type CodeSources,
  CodeSymbols,
  type DemangleOptions,
  demangle,
  type ElfSymbolParts,
  type ElfTable,
  elfCodeSymbols,
  type FileNeed,
  type FileRequest,
  type LoadOptions,
  loadCodeSources,
  loadCodeSymbols,
  type OpenedFile,
  type SourceFrame,
  type SymbolDriver,
} from '../code/symbols/index.ts';
