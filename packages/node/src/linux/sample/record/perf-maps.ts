import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { encodeRecordedFiles } from '@counterpoint/core/jit';
import {
  isOfEarlierProcess,
  isTrusted,
  NamedFile,
  presentBytes,
  requireRegular,
} from '../../../host/files/index.ts';
import { addNote, type Note } from '../../kernel/perf-events/index.ts';
import {
  processImage,
  processOfThread,
  processStartMs,
  readProc,
  readProcLink,
} from '../../kernel/target/index.ts';
import type { InliningGap, InliningWatch, InterpretedFunctions } from '../v8/index.ts';
import { writesNames } from './nameless-code.ts';
import { type MapOwner, packPerfMaps } from './recorded-maps.ts';

const MOST_PROCESSES = 4096;
/** Open directories. */
const MOST_HELD = 256;
const CHUNK_BYTES = 1 << 20;
const MOST_GAPS_TOLD = 4;
const O_DIRECTORY = constants.O_DIRECTORY;

interface Held {
  /** Of the container's /tmp; null where it is ours. */
  fd: number | null;
  /** The pid that the process itself knows, which is in the name of its map. */
  innerPid: number;
  /** Whose process it is. */
  uid: number;
  startMs: number | null;
  /** The program that it runs (`processImage`). */
  image: string | null;
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
  /** Whose map is in what was packed last. */
  readonly #packed = new Set<number>();
  #directories = 0;
  /** Processes beyond the limit. */
  #missed = 0;
  readonly #startedMs = Date.now();
  readonly #ownNamespace = readProcLink('self/ns/mnt');
  readonly #directory: string;

  readonly #inlining: InliningWatch | null;

  /** `inlining`: reads what optimised JavaScript inlines, as long as its process lives. */
  constructor(directory = '/tmp', inlining: InliningWatch | null = null) {
    this.#directory = directory;
    this.#inlining = inlining;
  }

  /** A process has executable memory without a file: it makes code. */
  considerMaker(pid: number): void {
    const { image = null } = this.#held.get(pid) ?? {};
    // Between fork and exec it was what had started it: other flags, other memory.
    if (image !== null && (processImage(pid) ?? image) !== image) this.forget(pid);
    this.consider(pid);
  }

  /** A process that may make code. Cheap when asked again. */
  consider(pid: number): void {
    if (this.#held.has(pid)) return;
    if (this.#held.size >= MOST_PROCESSES) {
      this.#missed++;
      return;
    }
    const held = this.#hold(pid);
    this.#held.set(pid, held);
    if (held !== null)
      this.#inlining?.consider({ ...this.#ownerOf(pid, held), isNameless: !writesNames(pid) });
  }

  /**
   * A process has ended, and no sample of it is wanted any more. Another one may have its number next. Says
   * whether it was known.
   */
  forget(pid: number): boolean {
    const held = this.#held.get(pid);
    if (held === undefined) return false;
    if (held !== null && held.fd !== null) {
      closeSync(held.fd);
      this.#directories--;
    }
    this.#held.delete(pid);
    this.#packed.delete(pid);
    this.#inlining?.forget(pid);
    return true;
  }

  /** So that `whyNameless` can answer at once. */
  async prepare(pids: readonly number[]): Promise<void> {
    await this.#inlining?.prepare(pids);
  }

  /** Why the code of a process that writes no map has no names; null: it has. */
  whyNameless(pid: number): string | null {
    return this.#inlining?.whyNameless(pid) ?? null;
  }

  /** Whether `whyNameless` cannot answer yet. */
  isPending(pid: number): boolean {
    return this.#inlining?.isPending(pid) ?? false;
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
    // It has ended already. Its map, where there is one, was written while this recording ran.
    if (namespace === null || innerPid === undefined)
      return {
        fd: null,
        innerPid: pid,
        uid: process.geteuid?.() ?? 0,
        startMs: this.#startedMs,
        image: null,
      };
    const isOurs = namespace === this.#ownNamespace;
    if (!isOurs && this.#directories >= MOST_HELD) return null;
    try {
      const { uid } = statSync(`/proc/${pid}`);
      const fd = isOurs ? null : openSync(`/proc/${pid}/root/tmp`, constants.O_RDONLY | O_DIRECTORY);
      if (fd !== null) this.#directories++;
      return { fd, innerPid: Number(innerPid), uid, startMs: processStartMs(pid), image: processImage(pid) };
    } catch {
      return null;
    }
  }

  /**
   * All maps, and what is known of inlined functions, as a section of the
   * recording; null if there are none. `budgetMs`: to read what is new of inlined functions.
   * `isWanted`: of which processes; by default of all.
   */
  async pack(
    notes: Note[],
    { budgetMs, isWanted = () => true }: { budgetMs?: number; isWanted?: (pid: number) => boolean } = {},
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { files: inlined, gaps } = (await this.#inlining?.pack(budgetMs, isWanted)) ?? {
      files: [],
      gaps: [],
    };
    noteGaps(
      gaps.filter(({ isNameless }) => !isNameless),
      notes,
    );
    const { files: maps, starts } = await packPerfMaps(this.#owners(isWanted), notes);
    for (const { pid } of maps) this.#packed.add(pid);
    if (this.#missed > 0) {
      const text = `${this.#missed} processes that make code are too many beside the others: their names are not in the recording`;
      addNote(notes, { kind: 'perf-map', text });
    }
    const files = [...maps, ...inlined];
    return files.length + starts.size === 0 ? null : encodeRecordedFiles(files, true, starts);
  }

  *#owners(isWanted: (pid: number) => boolean): Generator<MapOwner> {
    for (const [pid, held] of this.#held) {
      if (held !== null && isWanted(pid)) yield this.#ownerOf(pid, held);
    }
  }

  #ownerOf(pid: number, { fd, innerPid, ...facts }: Held): MapOwner {
    const own = `${this.#directory}/perf-${pid}.map`;
    const inner = `${fd === null ? this.#directory : `/proc/self/fd/${fd}`}/perf-${innerPid}.map`;
    return { pid, paths: fd === null ? [inner, own] : [inner], ...facts };
  }

  /**
   * Copy the maps of what was held, for perf. A map that is there already is left alone. Of processes that
   * are the recorder's own doing (`isOwn`), the map is removed instead: it is in the recording.
   */
  finish(notes: Note[], isOwn: (pid: number) => boolean = () => false): void {
    let running = 0;
    for (const [pid, held] of this.#held) {
      if (held === null) continue;
      if (isOwn(pid) && this.#packed.has(pid)) {
        if (readProcLink(`${pid}/exe`) !== null) running++;
        else this.#removeMap(held);
        continue;
      }
      if (held.fd === null) continue;
      const target = `${this.#directory}/perf-${pid}.map`;
      if (copyMap(`/proc/self/fd/${held.fd}/perf-${held.innerPid}.map`, held.uid, target)) {
        const text = `process ${pid} is process ${held.innerPid} of its container: its names of JIT code were copied to ${target}`;
        notes.push({ kind: 'perf-map', text });
      }
    }
    if (running > 0) {
      const text =
        running === 1
          ? '1 process of the command continues: its /tmp/perf-PID.map stays and grows until it ends'
          : `${running} processes of the command continue: their /tmp/perf-PID.map stays and grows until they end`;
      addNote(notes, { kind: 'perf-map', text });
    }
    this[Symbol.dispose]();
  }

  /** Only a file of the process, and never one of a process before it. */
  #removeMap({ fd, innerPid, uid, startMs }: Held): void {
    const path = `${fd === null ? this.#directory : `/proc/self/fd/${fd}`}/perf-${innerPid}.map`;
    try {
      const facts = lstatSync(path);
      const isOwn = facts.uid === uid && facts.nlink === 1 && !isOfEarlierProcess(facts.mtimeMs, startMs);
      if (facts.isFile() && isOwn) unlinkSync(path);
    } catch {
      // Gone, or not ours to remove.
    }
  }

  [Symbol.dispose](): void {
    this.#inlining?.[Symbol.dispose]();
    for (const held of this.#held.values()) if (held !== null && held.fd !== null) closeSync(held.fd);
    this.#directories = 0;
    this.#held.clear();
  }
}

function noteGaps(gaps: readonly InliningGap[], notes: Note[]): void {
  const tell = (what: string) => {
    const text = `${what}, so the time of functions that V8 inlined counts for their callers (start Node with --no-turbo-inlining to see them apart)`;
    addNote(notes, { kind: 'inlined-code', text });
  };
  for (const { pid, text } of gaps.slice(0, MOST_GAPS_TOLD))
    tell(pid === null ? text : `process ${pid}: ${text}`);
  if (gaps.length > MOST_GAPS_TOLD)
    tell(`${gaps.length - MOST_GAPS_TOLD} more processes: not all that their code inlines could be read`);
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
