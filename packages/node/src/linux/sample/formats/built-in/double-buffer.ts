/**
 * perfmon2's second format: compact records in two halves of a buffer, one of which is
 * drained while the other fills.
 */
import { bpfStruct, r0, r1, r9 } from '../../../kernel/bpf/index.ts';
import { defineFormat, type SampleRows } from '../format.ts';
import { HalvesReader, type HalvesShape, type HalvesTotals, halvesMaps, writeRecord } from './halves.ts';
import { storePlace } from './overflow-place.ts';

const Record = bpfStruct({
  timeNs: 'u64',
  address: 'u64',
  period: 'u64',
  tid: 'u32',
  pid: 'u32',
  event: 'u64',
});
/** In words of 32 bits. */
const ROW = {
  ip: Record.fields.address.offsetBytes / 4,
  pid: Record.fields.pid.offsetBytes / 4,
  tid: Record.fields.tid.offsetBytes / 4,
  event: Record.fields.event.offsetBytes / 4,
  period: Record.fields.period.offsetBytes / 4,
  timeNs: Record.fields.timeNs.offsetBytes / 4,
} as const;

function shapeOf({ records, threshold }: { records: number; threshold: number }): HalvesShape {
  return { layout: Record, capacity: records, swapAt: Math.max(1, Math.ceil((records * threshold) / 100)) };
}

/** The records of one half, or at the end what it all came to. */
export type DoubleBufferResult =
  | { readonly kind: 'half'; readonly rows: SampleRows }
  | ({ readonly kind: 'end' } & HalvesTotals);

export default defineFormat({
  name: 'double-buffer',
  version: 1,
  summary: 'compact records in two halves of a mapped buffer for each CPU, swapped at a threshold',
  options: {
    records: {
      type: 'count',
      default: 8192,
      min: 2,
      max: 1 << 22,
      help: 'room for N records of 40 bytes in each half, on each CPU',
    },
    threshold: {
      type: 'count',
      default: 50,
      min: 1,
      max: 100,
      help: 'swap the halves when N percent of one are full; the rest is room until the other half is drained',
    },
  },
  history: {},
  plan: (options) => ({ maps: halvesMaps(shapeOf(options)) }),
  onOverflow(asm, context) {
    const { event, options } = context;
    writeRecord(asm, shapeOf(options), context, () => {
      const record = Record.at(r9);
      asm.call('ktime_get_ns');
      asm.store(record.timeNs, r0);
      asm.loadProcessAndThread(r0);
      // The low half is the thread, the high one the process: two fields in one store.
      asm.store({ ...record.tid, sizeBytes: 8 }, r0);
      storePlace(asm, context, record.address);
      asm.loadContext(r1, 'samplePeriod');
      asm.store(record.period, r1);
      asm.store(record.event, event);
    });
  },
  async *collect(maps, { options, next, nowNs }): AsyncGenerator<DoubleBufferResult> {
    using reader = new HalvesReader(maps, shapeOf(options));
    for (let isLast = false; !isLast; ) {
      const wake = await next();
      isLast = wake === 'stopped';
      for (const { cpu, count, bytes } of reader.take(isLast || wake === 'paused')) {
        const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
        yield {
          kind: 'half',
          rows: { words, rowWords: Record.sizeBytes / 4, count, at: ROW, cpu, timeNs: 0n },
        };
      }
    }
    yield { kind: 'end', ...reader.totals(nowNs()) };
  },
  toRows: (result) => (result.kind === 'half' ? result.rows : null),
  *describe(result) {
    if (result.kind === 'half') return;
    const { swaps, blindNs, missed } = result;
    const blindMs = (blindNs / 1e6).toFixed(1);
    yield `double-buffer: ${swaps} ${swaps === 1 ? 'swap' : 'swaps'}; both halves full for ${blindMs} ms of CPU time, in which ${missed} overflows were missed`;
  },
});
