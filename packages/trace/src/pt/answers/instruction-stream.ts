import type { CodeImage } from '../../code/image/index.ts';
import type { ExecutedInstruction } from '../flow/index.ts';
import type { CodeGraph } from '../graph/index.ts';
import { NodeAddresses } from './node-addresses.ts';
import { type RunTraceOptions, type TraceListener, TraceRun, type TraceSummary } from './run-trace.ts';

/**
 * Takes addresses 0 to `count - 1`, int32 halves, in the order of execution.
 * Borrowed: filled again for the next.
 */
export type AddressListener = (lo: Int32Array, hi: Int32Array, count: number) => void;

const BUFFER_LENGTH = 1 << 16;

/** Every executed instruction's address, in order: `listener` gets some ten thousand at a time. */
export function streamInstructions(
  bytes: Uint8Array,
  image: CodeImage,
  options: RunTraceOptions,
  listener: AddressListener,
): TraceSummary {
  const stream = new InstructionStream(listener);
  const summary = new TraceRun(bytes, image, options, stream).run();
  stream.flush();
  return summary;
}

class InstructionStream implements TraceListener {
  readonly #listener: AddressListener;
  readonly #lo = new Int32Array(BUFFER_LENGTH);
  readonly #hi = new Int32Array(BUFFER_LENGTH);
  #used = 0;
  readonly #addresses = new Map<CodeGraph, NodeAddresses>();

  constructor(listener: AddressListener) {
    this.#listener = listener;
  }

  flush(): void {
    if (this.#used > 0) this.#listener(this.#lo, this.#hi, this.#used);
    this.#used = 0;
  }

  onNodes = (graph: CodeGraph, nodes: Int32Array, count: number): void => {
    let known = this.#addresses.get(graph);
    if (known === undefined) {
      known = new NodeAddresses(graph);
      this.#addresses.set(graph, known);
    }
    const lo = this.#lo;
    const hi = this.#hi;
    let used = this.#used;
    for (let at = 0; at < count; at++) {
      const node = nodes[at]!;
      const first = known.firstOf(node);
      const last = first + graph.instructions.at(node);
      // After `firstOf`: it may have replaced them.
      const fromLo = known.lo.data;
      const fromHi = known.hi.data;
      for (let from = first; from < last; from++) {
        if (used === BUFFER_LENGTH) {
          this.#listener(lo, hi, used);
          used = 0;
        }
        lo[used] = fromLo[from]!;
        hi[used++] = fromHi[from]!;
      }
    }
    this.#used = used;
  };

  onGraphEnd(graph: CodeGraph): void {
    this.#addresses.delete(graph);
  }

  onInstruction({ ipLo, ipHi }: ExecutedInstruction): void {
    if (this.#used === BUFFER_LENGTH) this.flush();
    this.#lo[this.#used] = ipLo;
    this.#hi[this.#used++] = ipHi;
  }

  onBreak(): void {}
}
