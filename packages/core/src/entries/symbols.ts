/** Addresses to names: symbol tables, kallsyms, perf maps, demangling. */
export * from '../symbols/index.ts';
