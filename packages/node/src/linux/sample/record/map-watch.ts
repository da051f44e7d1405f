import { PERF_RECORD_MMAP, PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import type { Mmap2Record, MmapRecord, PerfRecord } from '@counterpoint/core/records';
import { PROT_EXEC } from '../../kernel/target/index.ts';
import type { BuildIdCollector } from './build-ids.ts';
import type { CommandNames } from './command-names.ts';
import { processWithMadeCode } from './nameless-code.ts';
import type { PerfMapKeeper } from './perf-maps.ts';

/**
 * Everyone who wants to know of maps: those that were there before, and those that are made while recording.
 */
export class MapWatch {
  readonly #buildIds: BuildIdCollector | null;
  readonly #perfMaps: PerfMapKeeper;
  readonly #commandNames: CommandNames | null;

  constructor(buildIds: BuildIdCollector | null, perfMaps: PerfMapKeeper, commandNames: CommandNames | null) {
    this.#buildIds = buildIds;
    this.#perfMaps = perfMaps;
    this.#commandNames = commandNames;
  }

  /** A process has ended, and no sample of it is wanted any more. Says whether it makes code. */
  forget(pid: number): boolean {
    return this.#perfMaps.forget(pid);
  }

  /** Any record; those that are no maps of code are ignored. */
  add(record: PerfRecord): void {
    if (record.type === PERF_RECORD_MMAP) this.#buildIds?.addKernelMap(record as MmapRecord);
    if (record.type !== PERF_RECORD_MMAP2) return;
    const map = record as Mmap2Record;
    if ((map.protection & PROT_EXEC) === 0) return;
    this.#buildIds?.add(map);
    const pid = processWithMadeCode(record);
    if (pid === null) return;
    this.#perfMaps.considerMaker(pid);
    this.#commandNames?.consider(pid);
  }
}
