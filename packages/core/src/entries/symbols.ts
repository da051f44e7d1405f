/** Addresses to names: symbol tables, kallsyms, perf maps, demangling. */
export {
  type CodeBinary,
  CodeSymbols,
  type DemangleOptions,
  demangle,
  type ElfSymbolParts,
  type ElfTable,
  elfCodeSymbols,
  type FileNeed,
  type FileRequest,
  type LoadOptions,
  loadCodeSymbols,
  type OpenedFile,
  type SymbolDriver,
} from '../symbols/index.ts';
