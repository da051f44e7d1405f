import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TracepointField, Unavailable } from '@counterpoint/core/events';
import { parseFormat, type TracepointFormat } from '@counterpoint/core/perfdata';
import { tracefsRemedy } from '../probe/index.ts';

type Found = { dir: string; problem: null } | { dir: null; problem: Unavailable };

/**
 * Tracepoints by name: their ids are files below `events/` in tracefs, which only root (or its group) reads.
 */
export class Tracefs {
  readonly #places: () => readonly string[];
  #found: Found | null = null;
  #names: readonly string[] | null = null;
  readonly #ids = new Map<string, number | null | Unavailable>();

  /** Folders where tracefs may be mounted, in the order to try; asked for on first use. */
  constructor(places: () => readonly string[]) {
    this.#places = places;
  }

  id(system: string, name: string): number | null | Unavailable {
    const full = `${system}:${name}`;
    let id = this.#ids.get(full);
    if (id === undefined) {
      id = this.#read(system, name);
      this.#ids.set(full, id);
    }
    return id;
  }

  /** Every `system:event`, sorted; none where they cannot be read. */
  names(): readonly string[] {
    this.#names ??= this.#list();
    return this.#names;
  }

  /** The fields that a filter may compare; `null` where the description cannot be read. */
  fields(system: string, name: string): TracepointField[] | null {
    const format = this.format(system, name);
    return format === null || !('fields' in format) ? null : format.fields.map(filterField);
  }

  /** All of a tracepoint's description. */
  format(system: string, name: string): TracepointFormat | null | Unavailable {
    const id = this.id(system, name);
    const { dir } = this.#find();
    if (typeof id !== 'number' || dir === null) return typeof id === 'number' ? null : id;
    try {
      return parseFormat(system, readFileSync(join(dir, system, name, 'format'), 'utf8'));
    } catch {
      return null;
    }
  }

  #find(): Found {
    this.#found ??= findTracefs(this.#places());
    return this.#found;
  }

  #read(system: string, name: string): number | null | Unavailable {
    const { dir, problem } = this.#find();
    if (problem !== null) return problem;
    if (system.includes('..') || name.includes('..') || `${system}${name}`.includes('/')) return null;
    try {
      const id = Number(readFileSync(join(dir, system, name, 'id'), 'utf8'));
      return Number.isSafeInteger(id) ? id : null;
    } catch (error) {
      return isDenied(error) ? denied(dir) : null;
    }
  }

  #list(): string[] {
    const { dir } = this.#find();
    if (dir === null) return [];
    const names: string[] = [];
    for (const system of folders(dir)) {
      for (const event of folders(join(dir, system))) {
        // The tracer's own records stand among the events, but most have no id to open them by.
        if (system === 'ftrace' && !existsSync(join(dir, system, event, 'id'))) continue;
        names.push(`${system}:${event}`);
      }
    }
    return names.sort();
  }
}

/** Text is characters in an array, or behind a pointer. */
function filterField({ name, type, dynamic, isSigned }: TracepointFormat['fields'][number]): TracepointField {
  const isText = /\bchar\b/.test(type) && (dynamic !== null || type.endsWith(']') || type.endsWith('*'));
  return { name, type, isText, isSigned };
}

function findTracefs(places: readonly string[]): Found {
  for (const place of places) {
    const dir = join(place, 'events');
    try {
      readdirSync(dir);
      return { dir, problem: null };
    } catch (error) {
      if (isDenied(error) && place === places[0]) return { dir: null, problem: denied(dir) };
    }
  }
  const [first = '/sys/kernel/tracing'] = places;
  return {
    dir: null,
    problem: {
      unavailable: `tracepoints are named in tracefs, which is not mounted at ${first}, and this process may not mount it`,
      remedy: `Mount it: sudo mount -t tracefs tracefs ${first}`,
    },
  };
}

function denied(dir: string): Unavailable {
  const mount = dir.replace(/\/events$/, '');
  return {
    unavailable: `tracepoints are named in ${mount}, which only root may read`,
    remedy: tracefsRemedy(mount),
  };
}

function isDenied(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM';
}

function folders(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}
