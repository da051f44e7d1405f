import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs';
import { encodeRecordedFiles } from '@counterpoint/core/jit';
import { isTrusted, NamedFile, presentBytes, requireRegular } from '../files/index.ts';
import type { InliningWatch, InterpretedFunctions } from '../javascript/index.ts';
import { addNote, type Note } from '../perf-events/index.ts';
import { processOfThread, processStartMs, readProc, readProcLink } from '../target/index.ts';
import { writesNames } from './nameless-code.ts';
import { type MapOwner, packPerfMaps } from './recorded-maps.ts';

const MOST_PROCESSES = 4096;
/** Open directories. */
const MOST_HELD = 256;
const CHUNK_BYTES = 1 << 20;
const O_DIRECTORY = constants.O_DIRECTORY;

interface Held {
  /** Of the container's /tmp; null where it is ours. */
  fd: number | null;
  /** The pid that the process itself knows, which is in the name of its map. */
  innerPid: number;
  /** Whose process it is. */
  uid: number;
  startMs: number | null;
}

/**
 * Names of JIT code. They are taken into the recording (`pack`).
 *
 * In containers a runtime writes `/tmp/perf-PID.map` where *it* sees /tmp, with the
 * pid that *it* has. While it runs a reader finds that through /proc/PID/root; afterwards nobody does. So
 * the directory of such a process is held open, and at the end the map is copied to where perf, too,
 * looks: `/tmp/perf-HOSTPID.map`.
 */
export class PerfMapKeeper implements Disposable {
  readonly #held = new Map<number, Held | null>();
  #directories = 0;
  readonly #ownNamespace = readProcLink('self/ns/mnt');
  readonly #directory: string;

  readonly #inlining: InliningWatch | null;

  /** `inlining`: reads what optimised JavaScript inlines, as long as its process lives. */
  constructor(directory = '/tmp', inlining: InliningWatch | null = null) {
    this.#directory = directory;
    this.#inlining = inlining;
  }

  /** A process that has executable memory without a file: it makes code. Cheap when asked again. */
  consider(pid: number): void {
    if (this.#held.has(pid) || this.#held.size >= MOST_PROCESSES) return;
    const held = this.#hold(pid);
    this.#held.set(pid, held);
    if (held !== null)
      this.#inlining?.consider({ ...this.#ownerOf(pid, held), isNameless: !writesNames(pid) });
  }

  /** So that `whyNameless` can answer at once. */
  async prepare(pids: readonly number[]): Promise<void> {
    await this.#inlining?.prepare(pids);
  }

  /** Why the code of a process that writes no map has no names; null: it has. */
  whyNameless(pid: number): string | null {
    return this.#inlining?.whyNameless(pid) ?? null;
  }

  /**
   * After `prepare`: of those of the processes (or threads) that write no names,
   * and whose frames can be read.
   */
  framesOf(tids: readonly number[]): Map<number, InterpretedFunctions> {
    const found = new Map<number, InterpretedFunctions>();
    for (const tid of tids) {
      const pid = processOfThread(tid) ?? tid;
      if (this.#inlining?.isKnown(pid) !== true || writesNames(pid)) continue;
      this.consider(pid);
      const functions = this.#inlining.framesOf(pid);
      if (functions !== null) found.set(pid, functions);
    }
    return found;
  }

  /** A process is about to end: what it has made is read now. */
  look(): void {
    this.#inlining?.look();
  }

  #hold(pid: number): Held | null {
    const namespace = readProcLink(`${pid}/ns/mnt`);
    const innerPid = /^NSpid:.*\b(\d+)$/m.exec(readProc(`${pid}/status`) ?? '')?.[1];
    if (namespace === null || innerPid === undefined) return null;
    const isOurs = namespace === this.#ownNamespace;
    if (!isOurs && this.#directories >= MOST_HELD) return null;
    try {
      const { uid } = statSync(`/proc/${pid}`);
      const fd = isOurs ? null : openSync(`/proc/${pid}/root/tmp`, constants.O_RDONLY | O_DIRECTORY);
      if (fd !== null) this.#directories++;
      return { fd, innerPid: Number(innerPid), uid, startMs: processStartMs(pid) };
    } catch {
      return null;
    }
  }

  /**
   * All maps, and what is known of inlined functions, as a section of the
   * recording; null where there are none.
   */
  async pack(notes: Note[]): Promise<Uint8Array<ArrayBuffer> | null> {
    const { files: inlined, gaps } = (await this.#inlining?.pack()) ?? { files: [], gaps: [] };
    for (const { pid, text } of gaps.filter(({ isNameless }) => !isNameless))
      addNote(notes, {
        kind: 'inlined-code',
        text: `process ${pid}: ${text}, so the time of functions that V8 inlined counts for their callers (start Node with --no-turbo-inlining to see them apart)`,
      });
    const files = [...(await packPerfMaps(this.#owners(), notes)), ...inlined];
    return files.length === 0 ? null : encodeRecordedFiles(files);
  }

  *#owners(): Generator<MapOwner> {
    for (const [pid, held] of this.#held) {
      if (held !== null) yield this.#ownerOf(pid, held);
    }
  }

  #ownerOf(pid: number, { fd, innerPid, ...facts }: Held): MapOwner {
    const own = `${this.#directory}/perf-${pid}.map`;
    const inner = `${fd === null ? this.#directory : `/proc/self/fd/${fd}`}/perf-${innerPid}.map`;
    return { pid, paths: fd === null ? [inner, own] : [inner], ...facts };
  }

  /** Copy the maps of what was held. A map that is there already is left alone. */
  finish(notes: Note[]): void {
    for (const [pid, held] of this.#held) {
      if (held === null || held.fd === null) continue;
      const target = `${this.#directory}/perf-${pid}.map`;
      if (copyMap(`/proc/self/fd/${held.fd}/perf-${held.innerPid}.map`, held.uid, target)) {
        const text = `process ${pid} is process ${held.innerPid} of its container: its names of JIT code were copied to ${target}`;
        notes.push({ kind: 'perf-map', text });
      }
    }
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#inlining?.[Symbol.dispose]();
    for (const held of this.#held.values()) if (held !== null && held.fd !== null) closeSync(held.fd);
    this.#directories = 0;
    this.#held.clear();
  }
}

/**
 * The other side is not trusted: no link is followed, on either side, only a plain file of the process or of
 * root is read, and no more of it than is there: a file with holes says any size.
 */
function copyMap(from: string, uid: number, to: string): boolean {
  let input = -1;
  let output = -1;
  try {
    using file = new NamedFile(from, { followLink: false });
    requireRegular(file, { recorded: true });
    const { facts } = file;
    if (facts.uid !== uid && !isTrusted(facts.uid)) return false;
    if (presentBytes(facts) < facts.size) return false;
    input = file.openSync();
    output = openSync(
      to,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    const chunk = new Uint8Array(CHUNK_BYTES);
    for (let left = facts.size; left > 0; ) {
      const size = readSync(input, chunk, 0, Math.min(left, chunk.length), null);
      if (size === 0) break;
      for (let at = 0; at < size; ) at += writeSync(output, chunk, at, size - at);
      left -= size;
    }
    return true;
  } catch {
    return false;
  } finally {
    if (input >= 0) closeSync(input);
    if (output >= 0) closeSync(output);
  }
}
