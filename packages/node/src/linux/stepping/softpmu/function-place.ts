import { basename } from 'node:path';
import { CounterpointError } from '@counterpoint/core/base';
import type { EventLookup, ProbeFile } from '@counterpoint/core/events';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { codeOf, type MappedCode } from './mapped-code.ts';

/** Told whenever libraries were loaded or unloaded (glibc's, musl's and Bionic's rtld): for debuggers. */
const LOADER_STOPS = ['_dl_debug_state', 'dl_debug_state', 'rtld_db_dlactivity'];
const LOADER = /^(?:ld[-.].*|ld64\.so.*|linker64)$/;

/** Finds functions by name in what processes have mapped: `NAME`, or `FILE:NAME`. */
export class FunctionFinder {
  readonly #file: string | null;
  readonly #name: string;
  readonly #lookup: EventLookup = systemEventLookup();

  constructor(wanted: string) {
    const [, file, name] = /^(?:([^:]+):(?!:))?(.+)$/.exec(wanted)!;
    this.#file = file ?? null;
    this.#name = name!;
  }

  /** Its address in this process; null where it has none. */
  addressIn(tid: number): number | null {
    for (const code of codeOf(tid)) {
      if (this.#file !== null && code.path !== this.#file && basename(code.path) !== this.#file) continue;
      const found = this.#addressIn(tid, code, [this.#name]);
      if (found !== null) return found;
    }
    return null;
  }

  /** What its loader calls when it has loaded a library; null: it has no loader that does. */
  loaderStopIn(tid: number): number | null {
    for (const code of codeOf(tid)) {
      if (!LOADER.test(basename(code.path))) continue;
      const found = this.#addressIn(tid, code, LOADER_STOPS);
      if (found !== null) return found;
    }
    return null;
  }

  error(): CounterpointError {
    const where =
      this.#file === null ? 'the program and its libraries have' : `there is no ${this.#file}, or it has`;
    return new CounterpointError(
      'ERR_SOFT_FUNCTION',
      `nothing was stepped: ${where} no function ${this.#name}`,
      'Take a name that nm shows, of a 64-bit program that was not stripped; FILE:NAME for one file.',
    );
  }

  #addressIn(tid: number, { start, end, offset, path }: MappedCode, names: readonly string[]): number | null {
    const file = this.#lookup.probeFile?.(`/proc/${tid}/root${path}`);
    if (file === undefined || 'unavailable' in file) return null;
    for (const name of names) {
      const found = offsetIn(file, name);
      if (found !== null && found >= offset && found < offset + end - start) return start + found - offset;
    }
    return null;
  }
}

function offsetIn({ functions, demangle, offsetOf }: ProbeFile, wanted: string): number | null {
  let address = functions.get(wanted);
  if (address === undefined && demangle !== undefined)
    for (const [name, at] of functions) if (demangle(name, false) === wanted) address = at;
  return address === undefined ? null : offsetOf(address);
}
