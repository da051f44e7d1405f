import { BodyWriter } from '../../records/index.ts';
import type { PerfDataFeatures } from '../features/index.ts';
import { encodeRecords, layoutByEvent, type RecordOrBytes } from './encode-records.ts';
import { finishFile, planFile } from './file-writer.ts';
import { pipeStart } from './pipe-writer.ts';
import type { WrittenEvent } from './written-event.ts';

export interface PerfDataContents {
  attrs: readonly WrittenEvent[];
  records: Iterable<RecordOrBytes>;
  features?: Partial<PerfDataFeatures>;
  mode?: 'file' | 'pipe';
  littleEndian?: boolean;
}

/** A whole recording in memory: for fixtures, tests and small conversions. A recorder uses `planFile` or `pipeStart`. */
export function writePerfData(contents: PerfDataContents): Uint8Array<ArrayBuffer> {
  const { attrs, features = {}, littleEndian = true } = contents;
  const data = encodeRecords(contents.records, layoutByEvent(attrs), littleEndian);
  const writer = new BodyWriter(littleEndian, data.length + 4096);
  if (contents.mode === 'pipe') {
    writer.rest(pipeStart({ attrs, features, littleEndian }));
    writer.rest(data);
    return writer.take();
  }
  const plan = planFile({ attrs, littleEndian });
  const { header, tail } = finishFile(plan, data.length, features);
  for (const part of [plan.header, data, tail]) writer.rest(part);
  const bytes = writer.take();
  bytes.set(header);
  return bytes;
}
