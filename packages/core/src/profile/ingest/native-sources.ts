import { type Diagnostic, type ProgressListener, TripleTable, toSignedFloat } from '../../base/index.ts';
import {
  type CodeSources,
  loadCodeSources,
  type SourceFrame,
  type SymbolDriver,
} from '../../code/symbols/index.ts';
import { NONE, type Profile } from '../tables/index.ts';
import type { Binaries } from './binaries.ts';

/** Nothing is known of the source. */
const NOWHERE: readonly SourceFrame[] = [];

/**
 * What debug information says of frames of programs and libraries: their lines, and what was inlined there.
 * Each binary's is opened once, when the first of its frames is looked up, and all new frames of it are
 * looked up at once. Can be called again as frames are added.
 */
export class NativeSources {
  readonly diagnostics: Diagnostic[] = [];
  readonly #profile: Profile;
  readonly #binaries: Binaries;
  readonly #driver: SymbolDriver;
  readonly #acceptUnverified: () => boolean;
  readonly #opened = new Map<number, CodeSources | null>();
  /** By frame, where it was interrupted and where it had called. */
  readonly #interrupted: (readonly SourceFrame[])[] = [];
  readonly #calling: (readonly SourceFrame[])[] = [];
  readonly #places = new TripleTable();
  readonly #placeRows: number[] = [];
  #nextFrame = 0;

  constructor(profile: Profile, binaries: Binaries, driver: SymbolDriver, acceptUnverified: () => boolean) {
    this.#profile = profile;
    this.#binaries = binaries;
    this.#driver = driver;
    this.#acceptUnverified = acceptUnverified;
  }

  /** Looks up the frames that were added since the last call. */
  async resolveNew(onProgress?: ProgressListener): Promise<void> {
    const { frames, binaries } = this.#profile;
    const byBinary = new Map<number, number[]>();
    for (let frame = this.#nextFrame; frame < frames.length; frame++) {
      const binary = frames.binary.at(frame);
      if (binaries[binary]!.kind !== 'user') continue;
      const known = byBinary.get(binary);
      if (known === undefined) byBinary.set(binary, [frame]);
      else known.push(frame);
    }
    this.#nextFrame = frames.length;
    let done = 0;
    for (const [binary, own] of byBinary) {
      onProgress?.({ phase: `lines of ${binaries[binary]!.name}`, done: done++, total: byBinary.size });
      const sources = await this.#open(binary);
      if (sources !== null) await this.#lookUp(sources, own);
    }
  }

  /**
   * The functions that a frame is in, the innermost first. A return address is that of the next
   * instruction, which may be of another line: before it is the call.
   */
  at(frame: number, isCalling: boolean): readonly SourceFrame[] {
    return (isCalling ? this.#calling : this.#interrupted)[frame] ?? NOWHERE;
  }

  /** The row of `Profile.sources` for a place; `NONE` if its line is not known. */
  rowOf({ file, line, column }: SourceFrame): number {
    if (line === 0 || file === '') return NONE;
    const { sources, strings } = this.#profile;
    const row = this.#places.find(strings.intern(file), line, column);
    if (row >= 0) return this.#placeRows[row]!;
    sources.file.push(strings.intern(file));
    sources.line.push(line);
    this.#placeRows.push(sources.column.push(column));
    return this.#placeRows.at(-1)!;
  }

  async close(): Promise<void> {
    for (const sources of this.#opened.values()) await sources?.close();
    this.#opened.clear();
  }

  async #open(binary: number): Promise<CodeSources | null> {
    let sources = this.#opened.get(binary);
    if (sources === undefined) {
      const { path, buildId, kind } = this.#profile.binaries[binary]!;
      const { pid } = this.#binaries.known[binary]!;
      sources = await loadCodeSources({ path, buildId, kind, pid }, this.#driver, this.diagnostics, {
        acceptUnverified: this.#acceptUnverified(),
      });
      this.#opened.set(binary, sources);
    }
    return sources;
  }

  async #lookUp(sources: CodeSources, own: readonly number[]): Promise<void> {
    const { frames } = this.#profile;
    const addresses = own.map((frame) =>
      toSignedFloat(frames.addressLo.at(frame) >>> 0, frames.addressHi.at(frame)),
    );
    const found = await sources.find([...addresses, ...addresses.map((address) => address - 1)]);
    own.forEach((frame, place) => {
      this.#interrupted[frame] = found[place]!;
      this.#calling[frame] = found[own.length + place]!;
    });
  }
}
