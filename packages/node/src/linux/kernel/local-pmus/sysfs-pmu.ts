import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PmuDescription, PmuEvent } from '@counterpoint/core/events';
import { readKernelFile, realFiles } from '../probe/index.ts';
import { addFamilyEvents } from './add-family-events.ts';
import { addTableEvents } from './add-table-events.ts';
import { PtFacts } from './pt-facts.ts';

/** Files beside an event's own: `NAME.scale` and its kind. */
const EVENT_DETAIL = /\.(?:scale|unit|per-pkg|snapshot)$/;

/** Events that a PMU of this name has beside those that the kernel lists. */
type MoreEvents = (pmu: string) => ReadonlyMap<string, PmuEvent>;

export interface EventSources {
  /** Those of the CPU's family, for a core PMU. */
  readonly family: MoreEvents;
  /** Those of vendors' tables. */
  readonly tables: MoreEvents;
}

const NO_SOURCES: EventSources = { family: () => new Map(), tables: () => new Map() };

/**
 * One folder of /sys/bus/event_source/devices (Documentation/ABI/testing/sysfs-bus-event_source-devices-*):
 *
 *   type      cpumask | cpus      format/TERM: `config:0-7`      events/NAME: `event=0x3c`, NAME.scale, NAME.unit
 *
 * Formats and events are read when they are first asked for.
 */
export class SysfsPmu implements PmuDescription {
  readonly name: string;
  readonly type: number;
  readonly #dir: string;
  #formats: ReadonlyMap<string, string> | null = null;
  #events: ReadonlyMap<string, PmuEvent> | null = null;
  #isCore: boolean | null = null;
  readonly #sources: EventSources;

  private constructor(dir: string, name: string, type: number, sources: EventSources) {
    this.#dir = dir;
    this.name = name;
    this.type = type;
    this.#sources = sources;
  }

  /** `null` where there is no such PMU, or it has no number. */
  static read(devices: string, name: string, sources: EventSources = NO_SOURCES): SysfsPmu | null {
    const dir = join(devices, name);
    const type = readKernelFile(join(dir, 'type'));
    return type !== null && /^\d{1,10}$/.test(type) ? new SysfsPmu(dir, name, Number(type), sources) : null;
  }

  get formats(): ReadonlyMap<string, string> {
    this.#formats ??= new Map(this.#files('format').map((name) => [name, this.#text('format', name)]));
    return this.#formats;
  }

  get events(): ReadonlyMap<string, PmuEvent> {
    if (this.#events === null) {
      const own = new Map(
        this.#files('events')
          .filter((name) => !EVENT_DETAIL.test(name))
          .map((name) => [name, this.#event(name)]),
      );
      const { family, tables } = this.#sources;
      const all = this.isCore ? addFamilyEvents(own, family(this.name), this.formats) : own;
      this.#events = addTableEvents(all, tables(this.name), own);
    }
    return this.#events;
  }

  /** `cpumask` of an uncore PMU, `cpus` of a PMU that only some cores have. */
  get cpus(): string | undefined {
    return readKernelFile(join(this.#dir, 'cpumask')) ?? readKernelFile(join(this.#dir, 'cpus')) ?? undefined;
  }

  /** Of Intel PT: perf's choice, by what the machine can do. */
  get defaultConfig(): bigint | undefined {
    return this.name === 'intel_pt' ? new PtFacts(realFiles, this.#dir).defaultConfig() : undefined;
  }

  /** Kinds of core have a file `cpus`; the PMU of a machine with one kind is `cpu`, on s390 `cpum_cf`. */
  get isCore(): boolean {
    this.#isCore ??=
      this.name === 'cpu' || this.name === 'cpum_cf' || readKernelFile(join(this.#dir, 'cpus')) !== null;
    return this.#isCore;
  }

  /** `caps/NAME`: what the driver says of itself, `branches`, `max_precise`, `pmu_name`. */
  capability(name: string): string | null {
    return readKernelFile(join(this.#dir, 'caps', name));
  }

  #event(name: string): PmuEvent {
    const unit = this.#text('events', `${name}.unit`);
    const scale = Number(this.#text('events', `${name}.scale`) || Number.NaN);
    return {
      terms: this.#text('events', name),
      ...(unit === '' ? {} : { unit }),
      ...(Number.isFinite(scale) ? { scale } : {}),
      ...(this.#text('events', `${name}.per-pkg`) === '1' ? { perPackage: true } : {}),
      ...(this.#text('events', `${name}.snapshot`) === '1' ? { snapshot: true } : {}),
    };
  }

  #files(folder: string): string[] {
    try {
      return readdirSync(join(this.#dir, folder)).sort();
    } catch {
      // A PMU without formats or events has no such folder.
      return [];
    }
  }

  #text(folder: string, name: string): string {
    return readKernelFile(join(this.#dir, folder, name)) ?? '';
  }
}
