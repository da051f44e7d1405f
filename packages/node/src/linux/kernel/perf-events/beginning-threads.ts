import { listThreads, newestTask } from '../target/index.ts';
import { addNote, type Note } from './notes.ts';

/**
 * A thread that begins while its process is being attached to may be nobody's: it was not listed, and the
 * thread that made it had no event yet which it could inherit.
 *
 *   list threads      open A ..... open B ..... open C      list again
 *        │                            ↑ C starts D                │
 *        └── A, B, C                    └── no event of its own   └── D
 *
 * So the threads are listed again once everything is open. Where one is there that was not opened and that
 * began before the last event was open, all is closed and opened anew.
 */
export interface ProcessOpening<T extends { close(): void }> {
  readonly pids: readonly number[];
  readonly notes: Note[];
  /** Lists the threads, and opens them all or nothing. */
  open(): T;
  /** The threads that were listed for it. */
  tasksOf(opened: T): Iterable<number>;
}

const MOST_TRIES = 5;

/** Open events of processes that threads and children inherit, and see that no thread is left out. */
export function openForProcesses<T extends { close(): void }>(opening: ProcessOpening<T>): T {
  const { pids, notes, open, tasksOf } = opening;
  const notesBefore = notes.length;
  for (let tries = 1; ; tries++) {
    const newestBefore = newestTask();
    const opened = open();
    const newestAfter = newestTask();
    const listed = new Set(tasksOf(opened));
    const missed = pids
      .flatMap(listThreads)
      .filter((tid) => !listed.has(tid) && beganBetween(tid, newestBefore, newestAfter));
    if (missed.length === 0) return opened;
    if (tries === MOST_TRIES) {
      addNote(notes, threadsMissed(missed.length));
      return opened;
    }
    opened.close();
    // Those are asked again; what the kernel refused once stays refused, and is noted once.
    const kept = notes.splice(notesBefore).filter(({ kind }) => kind !== 'task-gone');
    for (const note of kept) addNote(notes, note);
  }
}

/** Task numbers rise, and begin again at the lowest. */
export function beganBetween(tid: number, newestBefore: number, newestAfter: number): boolean {
  const hasWrapped = newestAfter < newestBefore;
  return hasWrapped ? tid > newestBefore || tid <= newestAfter : tid > newestBefore && tid <= newestAfter;
}

function threadsMissed(threads: number): Note {
  const missing = threads === 1 ? 'a thread that began' : `${threads} threads that began`;
  return {
    kind: 'threads-missed',
    text: `threads begin faster than events can be opened: ${missing} meanwhile may be missing, with the threads that they start. To miss none, start the program with -- COMMAND, or watch whole CPUs (-a)`,
  };
}
