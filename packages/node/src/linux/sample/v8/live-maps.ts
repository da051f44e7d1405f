import { memorySource } from '@counterpoint/core/base';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import { processStartMs } from '../../kernel/target/index.ts';
import type { InliningWatch } from './inlining-watch.ts';

/**
 * Answers for the maps of processes that write none, from their memory; everything else is the driver's. It
 * is told when a process began that runs now: a map may be older.
 */
export function withLiveMaps(driver: SymbolDriver, watch: InliningWatch): SymbolDriver {
  return {
    open: async (request, diagnostics) => {
      if (request.need !== 'perf-map') return await driver.open(request, diagnostics);
      const map = watch.mapOf(request.pid);
      if (map !== null) return memorySource(map);
      return await driver.open({ ...request, startMs: processStartMs(request.pid) }, diagnostics);
    },
  };
}
