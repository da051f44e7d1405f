import { StepEncoder, type StepEncodingOptions } from '@counterpoint/trace/intel-pt';
import type { LoggedBlocks } from './fast/logged-blocks.ts';
import type { SoftTracing } from './messages.ts';
import type { NextInstruction } from './next-instruction.ts';
import { processOf } from './process-of.ts';
import { RowWriter } from './rows.ts';
import type { Landing, StepSink } from './step-sink.ts';

/** Pieces are about so large; a row takes no more than its buffer. */
const PIECE_BYTES = 32 * 1024;
/** Between two looks at whether a piece is full. */
const SOME_BLOCKS = 1 << 15;
/** What waits to fill a piece waits no longer than this. */
const LONGEST_WAIT_MS = 250;

interface TracedThread {
  pid: number;
  encoder: StepEncoder;
  /** When the piece began that is not sent yet; 0: it has nothing. */
  pieceTsc: number;
}

/** Makes Intel PT's packets of all that is stepped, a trace for each thread. */
export class SoftTracer implements StepSink {
  readonly #options: StepEncodingOptions;
  readonly #threads = new Map<number, TracedThread>();
  readonly #rows: RowWriter;
  #sentAtMs = 0;

  constructor({ returnCompression, hasTsc, psbBytes }: SoftTracing, write: (bytes: Uint8Array) => void) {
    this.#options = { returnCompression, psbBytes, chunkBytes: PIECE_BYTES, tsc: hasTsc ? nowNs : null };
    this.#rows = new RowWriter(write);
  }

  step(tid: number, done: NextInstruction, landing: Landing | null): void {
    const thread = this.#threads.get(tid) ?? this.#begin(tid);
    const { encoder } = thread;
    // Without `landing` it made a system call that does not come back, and has begun before other code came.
    if (thread.pieceTsc === 0)
      thread.pieceTsc = landing === null && encoder.lastTsc > 0 ? encoder.lastTsc : nowNs();
    if (landing === null) encoder.lastStep(done);
    else encoder.step(done, landing.pc);
    if (encoder.hasChunk) this.#send(tid, thread, false);
  }

  run(tid: number, steps: readonly NextInstruction[], count: number, { pc }: Landing): void {
    const thread = this.#threads.get(tid) ?? this.#begin(tid);
    if (thread.pieceTsc === 0) thread.pieceTsc = nowNs();
    thread.encoder.run(steps[0]!, steps[count - 1]!, pc);
    if (thread.encoder.hasChunk) this.#send(tid, thread, false);
  }

  blocks(tid: number, { table }: LoggedBlocks, ids: Int32Array, count: number): void {
    const thread = this.#threads.get(tid) ?? this.#begin(tid);
    for (let from = 0; from < count; from += SOME_BLOCKS) {
      if (thread.pieceTsc === 0) thread.pieceTsc = nowNs();
      thread.encoder.blocks(table, ids.subarray(from), Math.min(SOME_BLOCKS, count - from));
      if (thread.encoder.hasChunk) this.#send(tid, thread, false);
    }
  }

  birth(): void {
    // Its trace begins with its first step.
  }

  exec(tid: number, formerTid: number): void {
    this.end(formerTid);
    this.end(tid);
  }

  end(tid: number): void {
    const thread = this.#threads.get(tid);
    if (thread === undefined) return;
    thread.encoder.stop();
    this.#send(tid, thread, true);
    this.#threads.delete(tid);
  }

  flush(): void {
    const nowMs = performance.now();
    if (nowMs - this.#sentAtMs < LONGEST_WAIT_MS) return;
    this.#sentAtMs = nowMs;
    for (const [tid, thread] of this.#threads) this.#send(tid, thread, true);
    this.#rows.flush();
  }

  finish(): void {
    for (const tid of [...this.#threads.keys()]) this.end(tid);
    this.#rows.flush();
  }

  #begin(tid: number): TracedThread {
    const thread = { pid: processOf(tid), encoder: new StepEncoder(this.#options), pieceTsc: 0 };
    this.#threads.set(tid, thread);
    return thread;
  }

  #send(tid: number, thread: TracedThread, all: boolean): void {
    for (const bytes of thread.encoder.chunks(all)) {
      this.#rows.addPiece({ pid: thread.pid, tid, tsc: thread.pieceTsc, bytes });
      thread.pieceTsc = nowNs();
    }
    if (all) thread.pieceTsc = 0;
  }
}

/** CLOCK_MONOTONIC. Exact for a hundred days. */
function nowNs(): number {
  return Number(process.hrtime.bigint());
}
