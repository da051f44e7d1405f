import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import type { Probe } from '@counterpoint/core/events';
import {
  groupOf,
  hasEnded,
  ownerOf,
  removeLeftDirectories,
  thisOwner,
} from '../../../host/leftovers/index.ts';
import { type Sys, SysError } from '../sys/index.ts';

/**
 * Probes that children inherit. The kernel's probe PMUs cannot give them: where a thread is made, the kernel
 * opens an inherited event anew from its attr, and reads the text that the attr points to in the memory of
 * the program that makes the thread (perf_uprobe_event_init, perf_kprobe_event_init). There the pointer means
 * nothing: fork and clone fail with EFAULT, and the program breaks. So such a probe is defined in tracefs,
 * and its event says only a number:
 *
 *   uprobe_events   p:counterpoint_PID_START_NAMESPACE/p5f3a… /usr/lib/libc.so.6:0x98930
 *                   └─> events/…/p5f3a…/id: 2326     attr { type tracepoint, config 2326 }
 *
 * A definition lasts as long as an event is open on it. The kernel refuses to remove one that
 * is in use (EBUSY), and what a killed process left is removed by the next that defines a
 * probe, and by each verb that records or counts.
 */
export interface HeldProbe {
  /** `config` of a tracepoint event. */
  readonly id: number;
  /** Call it once. The last one removes the definition. */
  release(): void;
}

/** What tracefs needs to remove it. */
interface Named {
  readonly kind: Probe['kind'];
  readonly fullName: string;
}

interface Definition extends Named {
  readonly id: number;
  users: number;
}

/** The file of tracefs that takes definitions. */
export const PROBE_FILES: Readonly<Record<Probe['kind'], string>> = {
  uprobe: 'uprobe_events',
  kprobe: 'kprobe_events',
};

class ProbeDefinitions {
  readonly #sys: Sys;
  readonly #byPlace = new Map<string, Definition>();
  /** Not removed yet: events were still open on them. */
  readonly #leftover = new Set<Named>();
  readonly #swept = new Set<Probe['kind']>();

  constructor(sys: Sys) {
    this.#sys = sys;
  }

  hold(probe: Probe): HeldProbe {
    const place = JSON.stringify([probe.kind, probe.target, String(probe.offset), probe.isReturn]);
    let definition = this.#byPlace.get(place);
    if (definition === undefined) {
      this.#removeLeftover();
      if (!this.#swept.has(probe.kind)) this.sweep(probe.kind);
      definition = this.#define(probe);
      this.#byPlace.set(place, definition);
    }
    definition.users++;
    const { id } = definition;
    return { id, release: () => this.#release(place, definition) };
  }

  #release(place: string, definition: Definition): void {
    definition.users--;
    if (definition.users > 0) return;
    this.#byPlace.delete(place);
    this.#removeNowOrLater(definition);
  }

  #define(probe: Probe): Definition {
    const { kind, isReturn } = probe;
    const fullName = `${groupOf(thisOwner())}/${newProbeName()}`;
    this.#withPlace(probe, (place) => {
      this.#sys.appendTracefs(PROBE_FILES[kind], `${isReturn ? 'r' : 'p'}:${fullName} ${place}`);
    });
    try {
      return { id: Number(this.#sys.readTracefs(`events/${fullName}/id`)), kind, fullName, users: 0 };
    } catch (error) {
      this.#remove(kind, fullName);
      throw error;
    }
  }

  /** The place in the words of the command, in which blanks and `#` have a meaning and nothing is quoted. */
  #withPlace({ kind, target, offset }: Probe, use: (place: string) => void): void {
    if (kind === 'kprobe') {
      use(`${target}+${offset}`);
      return;
    }
    const inFile = `0x${offset.toString(16)}`;
    if (/^\/[\w./+@~-]+$/.test(target)) {
      use(`${target}:${inFile}`);
      return;
    }
    const O_PATH = 0o10000000;
    const descriptor = openSync(target, O_PATH);
    try {
      use(`/proc/self/fd/${descriptor}:${inFile}`);
    } finally {
      closeSync(descriptor);
    }
  }

  #removeNowOrLater(definition: Named): void {
    if (this.#remove(definition.kind, definition.fullName)) return;
    this.#leftover.add(definition);
    if (this.#leftover.size === 1) process.once('exit', () => this.#removeLeftover());
  }

  #removeLeftover(): void {
    for (const definition of this.#leftover)
      if (this.#remove(definition.kind, definition.fullName)) this.#leftover.delete(definition);
  }

  /** False where events are still open on it. */
  #remove(kind: Probe['kind'], fullName: string): boolean {
    try {
      this.#sys.appendTracefs(PROBE_FILES[kind], `-:${fullName}`);
      return true;
    } catch (error) {
      return !(error instanceof SysError && error.code === 'EBUSY');
    }
  }

  /** Remove what processes that have ended left behind. */
  sweep(kind: Probe['kind']): void {
    // What the kernel was still closing the last time.
    this.#removeLeftover();
    this.#swept.add(kind);
    const ended = new Map<string, boolean>();
    for (const line of this.#sys.readTracefs(PROBE_FILES[kind]).split('\n')) {
      const [, group, name] = /^[pr]\d*:([^/\s]+)\/(\S+)/.exec(line) ?? [];
      const owner = group === undefined ? null : ownerOf(group);
      if (owner === null) continue;
      if (!ended.has(group!)) ended.set(group!, hasEnded(owner));
      // The kernel still closes the events of a process that was killed a moment ago.
      if (ended.get(group!) === true) this.#removeNowOrLater({ kind, fullName: `${group}/${name}` });
    }
  }
}

const definitions = new WeakMap<Sys, ProbeDefinitions>();

/** A definition of `probe` in tracefs, made where this process has none for it. */
export function holdProbe(sys: Sys, probe: Probe): HeldProbe {
  return definitionsOf(sys).hold(probe);
}

/**
 * Of one group are all threads of a process, and there may be several copies of this
 * library: chance keeps them apart.
 */
function newProbeName(): string {
  return `p${randomBytes(6).toString('hex')}`;
}

/** Remove what processes that were killed left behind, as far as this user may. Fails nothing. */
export function removeLeftovers(sys: Sys): void {
  removeLeftDirectories();
  removeLeftProbes(sys);
}

function removeLeftProbes(sys: Sys): void {
  for (const kind of ['uprobe', 'kprobe'] as const)
    try {
      definitionsOf(sys).sweep(kind);
    } catch (error) {
      // Who may not look there can have left nothing there.
      if (!(error instanceof SysError)) throw error;
    }
}

function definitionsOf(sys: Sys): ProbeDefinitions {
  let ours = definitions.get(sys);
  if (ours === undefined) {
    ours = new ProbeDefinitions(sys);
    definitions.set(sys, ours);
  }
  return ours;
}
