import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_COMPRESSED,
  PERF_RECORD_COMPRESSED2,
} from '@counterpoint/core/abi';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import { openPerfData } from '@counterpoint/core/perfdata';
import { BodyWriter } from '@counterpoint/core/records';
import { beginRecording, copyRecording } from './copy-recording.ts';
import type { InjectedOutput } from './output.ts';
import { OF_THE_BEGINNING } from './sched-stat.ts';

const FLUSH_BYTES = 1 << 20;

/**
 * A compressed recording as it would be without compression, in the order of the file; another one as it is.
 */
export async function decompressRecording(source: ByteSource, output: InjectedOutput): Promise<void> {
  const first = await openPerfData(source);
  // What a stream has among its records is wanted at the beginning.
  if (first.isPipe) await first.scan({ record: () => {} }, { unordered: true });
  if (first.features.compressed === undefined) return await copyRecording(source, output, []);
  const { compressed: _, ...features } = first.features;
  const { finish } = beginRecording(first, output, [], features);
  const reader = await openPerfData(source);
  const writer = new BodyWriter(reader.littleEndian, FLUSH_BYTES + 0x10000);
  let size = 0;
  const flush = () => {
    const bytes = writer.take();
    size += bytes.length;
    output.write(bytes);
  };
  const record = (view: DataView, start: number, end: number, type: number) => {
    if (type === PERF_RECORD_AUXTRACE)
      throw new CounterpointError(
        'ERR_OUTPUT',
        'the recording has a hardware trace, which has its place in the file',
        'Read it as it is: every verb reads compressed recordings.',
      );
    // What is in one comes behind it.
    const isPacked = type === PERF_RECORD_COMPRESSED || type === PERF_RECORD_COMPRESSED2;
    if (isPacked || OF_THE_BEGINNING.has(type)) return;
    writer.rest(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
    if (writer.length >= FLUSH_BYTES) flush();
  };
  await reader.scan({ record }, { unordered: true });
  flush();
  finish(size, 0);
}
