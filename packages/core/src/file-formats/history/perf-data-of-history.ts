import { bigIntAt, type CancelSignal, type Damage, type ProgressListener } from '../../base/index.ts';
import { PERF_RECORD_FINISHED_ROUND, PERF_RECORD_SAMPLE } from '../../format/abi/index.ts';
import { LossLedger } from '../../format/loss/index.ts';
import {
  encodeRecords,
  finishFile,
  layoutByEvent,
  lossAtEnd,
  lossEntryRecord,
  type PerfDataReader,
  planFile,
  type WrittenEvent,
} from '../perfdata/index.ts';
import { type HistoryFile, RECORD_DAMAGE } from './history-file.ts';
import type { PieceWriter } from './write-history.ts';

/** Records are handed over in pieces of about this size, each a round. */
const ROUND_BYTES = 1 << 20;

interface Sideband {
  bytes: Uint8Array;
  /** Behind which it stands; -1 where it has no time. */
  timeNs: bigint;
}

/**
 * A history as a perf.data file again: its samples and its sideband in order of time. The header, which knows
 * the size of the data, is what is returned: write it over the beginning. Records that are damaged or were
 * cut off are a loss in it (`record-damaged`); `damage` is what else was wrong.
 */
export async function writePerfDataOf(
  history: HistoryFile,
  write: PieceWriter,
  { signal, onProgress }: { signal?: CancelSignal; onProgress?: ProgressListener } = {},
): Promise<{ header: Uint8Array<ArrayBuffer>; records: number; bytes: number; damage: Damage[] }> {
  const reader = await history.sideband();
  const others = await recordsOf(reader);
  const attrs = reader.events.events.map(({ attr, ids, name }) => ({ attr, ids: ids.map(BigInt), name }));
  const plan = planFile({ attrs, littleEndian: reader.littleEndian });
  await write(plan.header);
  const round = new Round(reader.littleEndian);
  let next = 0;
  let records = 0;
  let latest = 0n;
  let dataBytes = 0;
  const flush = async (): Promise<void> => {
    const piece = round.take();
    dataBytes += piece.length;
    await write(piece);
  };
  const before = history.damagedRecords;
  for await (const { timeNs, bytes, record } of history.records()) {
    latest = timeNs;
    while (next < others.length && others[next]!.timeNs <= timeNs) round.add(others[next++]!.bytes);
    round.add(bytes);
    if (record.type === PERF_RECORD_SAMPLE) records++;
    if (round.bytes < ROUND_BYTES) continue;
    await flush();
    signal?.throwIfAborted();
    onProgress?.({ phase: 'writing', done: records, total: history.count });
  }
  for (; next < others.length; next++) round.add(others[next]!.bytes);
  const damaged = history.damagedRecords - before + history.missingRecords;
  const ledger = new LossLedger();
  if (damaged > 0) ledger.add({ kind: 'record-damaged', count: damaged });
  const atEnd = lossAtEnd(reader);
  if (atEnd !== null) ledger.add(atEnd);
  if (attrs.length > 0) round.add(lossRecords(ledger, attrs, latest, reader.littleEndian));
  await flush();
  const { header, tail } = finishFile(plan, dataBytes, reader.features);
  await write(tail);
  const damage = history.damage.filter(({ code }) => !RECORD_DAMAGE.includes(code));
  return { header, records, bytes: plan.dataOffset + dataBytes + tail.length, damage };
}

/** What is missing, in the name of the first event. */
function lossRecords(
  ledger: LossLedger,
  attrs: readonly WrittenEvent[],
  time: bigint,
  littleEndian: boolean,
): Uint8Array {
  const place = { id: attrs[0]!.ids[0] ?? 0n, cpu: 0, pid: -1, tid: -1, time };
  const told = ledger.list().map((entry) => lossEntryRecord(entry, place));
  return encodeRecords(told, layoutByEvent(attrs), littleEndian);
}

async function recordsOf(reader: PerfDataReader): Promise<Sideband[]> {
  const found: Sideband[] = [];
  const le = reader.littleEndian;
  let latest = -1n;
  await reader.scan({
    record(view, start, end, type) {
      if (type === PERF_RECORD_FINISHED_ROUND) return;
      const at = reader.events.timeOffset(view, start, end, type, le);
      const timeNs = at < 0 ? -1n : bigIntAt(view, at, le);
      latest = timeNs > latest ? timeNs : latest;
      found.push({
        bytes: new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice(),
        timeNs: latest,
      });
    },
  });
  return found;
}

/** Records and the mark behind them. */
class Round {
  readonly #parts: Uint8Array[] = [];
  readonly #littleEndian: boolean;
  bytes = 0;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  add(record: Uint8Array): void {
    this.#parts.push(record);
    this.bytes += record.length;
  }

  take(): Uint8Array<ArrayBuffer> {
    const mark = new Uint8Array(8);
    const view = new DataView(mark.buffer);
    view.setUint32(0, PERF_RECORD_FINISHED_ROUND, this.#littleEndian);
    view.setUint16(6, mark.length, this.#littleEndian);
    this.add(mark);
    const piece = new Uint8Array(this.bytes);
    let at = 0;
    for (const part of this.#parts.splice(0)) {
      piece.set(part, at);
      at += part.length;
    }
    this.bytes = 0;
    return piece;
  }
}
