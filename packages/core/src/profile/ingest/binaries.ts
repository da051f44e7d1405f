import type { ByteSource } from '../../base/index.ts';
import { type Machine, type Mapping, mappingKind } from '../../code/machine/index.ts';
import type { PerfDataReader } from '../../file-formats/perfdata/index.ts';
import type { Binary, Profile, ProfileMeta } from '../tables/index.ts';
import { profileMeta } from './meta.ts';
import { RecordedFiles } from './recorded-files.ts';

/** A binary of the profile with what is needed to find its symbols. */
export interface KnownBinary {
  /** Process to ask for JIT names and container paths; -1 for the kernel. */
  pid: number;
  /** Set where the code has one name of its own. */
  symbol: string | null;
  /** Where its first mapping starts, signed. */
  start: number;
}

/** Gives each mapping its row in `Profile.binaries`. */
export class Binaries {
  readonly known: KnownBinary[] = [];
  readonly #profile: Profile;
  readonly #machine: Machine;
  readonly #byKey = new Map<string, number>();
  readonly #reader: Pick<PerfDataReader, 'features'>;
  /** Build ids by path, from the file's table; made again when a pipe gave more. */
  #buildIds = new Map<string, string>();
  #buildIdCount = 0;
  readonly unknown: number;
  readonly #recordedFiles: RecordedFiles;
  /** Told of each binary when code in it is seen for the first time. */
  onNew: ((index: number) => void) | null = null;

  constructor(profile: Profile, machine: Machine, reader: Pick<PerfDataReader, 'features'>) {
    this.#profile = profile;
    this.#machine = machine;
    this.#reader = reader;
    this.#recordedFiles = new RecordedFiles(reader);
    this.unknown = this.#add(
      'unknown',
      { path: '[unknown]', name: '[unknown]', buildId: '', kind: 'unknown' },
      null,
    );
  }

  /** A file that travels with the recording; null where it has none of that kind of that process. */
  recordedFile(kind: number, pid: number): Promise<ByteSource | null> {
    return this.#recordedFiles.open(kind, pid);
  }

  /** When a process began, in milliseconds since 1970; null: the recording does not tell it. */
  startOf(pid: number): number | null {
    return this.#recordedFiles.startOf(pid);
  }

  of(mapping: Mapping, isKernel: boolean): number {
    if (mapping.binary < 0)
      mapping.binary = isKernel ? this.#kernelBinary(mapping) : this.#userBinary(mapping);
    return mapping.binary;
  }

  #kernelBinary(mapping: Mapping): number {
    const { path, symbol } = mapping;
    const buildId = mapping.buildId || this.#storedBuildId(path);
    if (symbol !== null) {
      return this.#add(
        `ksymbol ${symbol}`,
        { path: symbol, name: symbol, buildId: '', kind: 'module' },
        mapping,
      );
    }
    if (path.startsWith('[kernel') || path.startsWith('[guest.kernel')) {
      return this.#add(`kernel ${path}`, { path, name: path, buildId, kind: 'kernel' }, mapping);
    }
    const name = path.startsWith('[')
      ? path
      : `[${baseName(path)
          .replace(/\.ko(\.\w+)?$/, '')
          .replaceAll('-', '_')}]`;
    return this.#add(`module ${name}`, { path, name, buildId, kind: 'module' }, mapping);
  }

  #userBinary(mapping: Mapping): number {
    const { path, pid } = mapping;
    const kind = mappingKind(path);
    if (kind === 'jit') {
      // One table of names per process; perf calls it by the file they come from.
      const jitPath = `/tmp/perf-${pid}.map`;
      return this.#add(
        `jit ${pid}`,
        { path: jitPath, name: `[JIT] tid ${pid}`, buildId: '', kind: 'jit' },
        mapping,
      );
    }
    const buildId = mapping.buildId || this.#storedBuildId(path);
    if (kind === 'memory') {
      return this.#add(`memory ${path}`, { path, name: path, buildId: '', kind: 'unknown' }, mapping);
    }
    if (kind !== 'file') {
      return this.#add(`vdso ${path}`, { path, name: path, buildId, kind: 'vdso' }, mapping);
    }
    return this.#add(
      `file ${path} ${buildId}`,
      { path, name: baseName(path), buildId, kind: 'user' },
      mapping,
    );
  }

  #storedBuildId(path: string): string {
    const buildIds = this.#reader.features.buildIds ?? [];
    if (this.#buildIdCount !== buildIds.length) {
      this.#buildIdCount = buildIds.length;
      this.#buildIds = new Map(buildIds.map((entry) => [entry.path, entry.buildId]));
    }
    return this.#buildIds.get(path) ?? '';
  }

  #add(key: string, binary: Binary, mapping: Mapping | null): number {
    let index = this.#byKey.get(key);
    if (index === undefined) {
      index = this.#profile.binaries.length;
      this.#profile.binaries.push(binary);
      const { pid = -1, symbol = null, start = 0 } = mapping ?? {};
      this.known.push({ pid, symbol, start });
      this.#byKey.set(key, index);
      this.onNew?.(index);
    }
    return index;
  }

  /** What the recording says of its machine, so far. */
  meta(): ProfileMeta {
    return profileMeta(this.#reader.features, null);
  }

  /** Reference symbol of the kernel image and its address when it was recorded. */
  get kernelReference(): Machine['kernelReference'] {
    return this.#machine.kernelReference;
  }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || path;
}
