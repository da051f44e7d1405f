import type { BpfMap } from '../../kernel/bpf/index.ts';

/** Time in system calls on the maps of a format, while its handlers should run. */
export class MapTime {
  readonly #maps: ReadonlyMap<string, BpfMap>;
  #spentNs = 0;
  /** Of the maps, when their handlers began to run; null while they do not. */
  #sinceNs: number | null;

  constructor(maps: ReadonlyMap<string, BpfMap>) {
    this.#maps = maps;
    this.#sinceNs = this.#totalNs;
  }

  get ns(): number {
    return this.#spentNs + (this.#sinceNs === null ? 0 : this.#totalNs - this.#sinceNs);
  }

  /** No handler runs any more, or for a while. */
  pause(): void {
    this.#spentNs = this.ns;
    this.#sinceNs = null;
  }

  goOn(): void {
    this.#sinceNs ??= this.#totalNs;
  }

  get #totalNs(): number {
    let totalNs = 0;
    for (const { systemCallNs } of this.#maps.values()) totalNs += systemCallNs;
    return totalNs;
  }
}
