/**
 * Who belongs to the target, known in the kernel: programs on tracepoints run for every process.
 *
 *   targets  process id -> 1; thread id, where threads are the target, or new ones are not followed
 *   fork     parent in targets ? child is put in : child is taken out, since the number may have been somebody else's
 *
 * The fork names the child by its number in the first pid namespace. In another one (a container) the ids of
 * those who are there from the start are not known by that number, so these have a map of their own:
 *
 *   first_targets  their ids in our namespace -> 1
 *   targets        children, by the kernel's number
 */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  indexKey,
  r0,
  r7,
  w7,
} from '../../kernel/bpf/index.ts';
import type { FormatProgram, FormatTarget } from './format.ts';

const MOST_PROCESSES = 1 << 16;

const TARGETS: BpfMapDefinition = {
  name: 'targets',
  type: 'lru-hash',
  keySizeBytes: 4,
  valueSizeBytes: 4,
  maxEntries: MOST_PROCESSES,
};

/** Those who are there from the start, where they have other numbers for the kernel than for us. */
const FIRST_TARGETS: BpfMapDefinition = { ...TARGETS, name: 'first_targets' };

export class TargetFilter {
  readonly #target: Omit<FormatTarget, 'events'>;
  /** Some program asks. */
  isUsed = false;

  constructor(target: Omit<FormatTarget, 'events'>) {
    this.#target = target;
  }

  /** End the program, leaving everything as it is, where something else runs. Loses r0 to r5. */
  writeTo(asm: BpfAssembler): void {
    if (this.#target.kind === 'cpus') return;
    this.isUsed = true;
    this.#lookUp(asm);
    asm.ifNull(r0, () => asm.return(1));
  }

  /** What keeps the map right while processes come; none where nobody asks, or children do not count. */
  programs(): FormatProgram[] {
    if (!this.isUsed || !this.#target.inherits) return [];
    return [
      {
        name: 'target_forks',
        attach: { kind: 'tracepoint', system: 'sched', name: 'sched_process_fork' },
        assemble: (asm) => {
          asm.loadContext(w7, 'child_pid');
          this.#lookUp(asm);
          asm.ifNull(
            r0,
            () => asm.mapDelete(TARGETS, r7),
            () => asm.mapUpdate(TARGETS, r7, 1),
          );
        },
      },
    ];
  }

  /** Those who are there from the start. */
  fill(maps: ReadonlyMap<string, BpfMap>): void {
    const map = maps.get(FIRST_TARGETS.name) ?? maps.get(TARGETS.name);
    if (map === undefined) return;
    for (const id of this.#target.ids) map.update(indexKey(id), indexKey(1));
  }

  /** r0 is null where what runs is not of the target. */
  #lookUp(asm: BpfAssembler): void {
    // Events that are not inherited are of the threads that they were opened on, and of
    // no others of the process.
    const isThread = this.#target.kind === 'threads' || !this.#target.inherits;
    if (isThread) asm.loadThreadId(r0);
    else asm.loadProcessId(r0);
    if (asm.pidNamespace === null) {
      asm.mapLookup(TARGETS, r0);
      return;
    }
    asm.mapLookup(FIRST_TARGETS, r0);
    if (!this.#target.inherits) return;
    asm.ifNull(r0, () => {
      if (isThread) asm.loadKernelThreadId(r0);
      else asm.loadKernelProcessId(r0);
      asm.mapLookup(TARGETS, r0);
    });
  }
}
