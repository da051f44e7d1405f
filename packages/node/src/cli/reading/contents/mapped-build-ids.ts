import { PERF_RECORD_MISC_MMAP_BUILD_ID, PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import type { PerfDataReader, RecordSink } from '@counterpoint/core/perfdata';
import { decodeRecord, type Mmap2Record } from '@counterpoint/core/records';

/** Takes the build ids that records of maps carry (`perf record --buildid-mmap`). */
export function buildIdsOfMaps(reader: PerfDataReader, into: Map<string, string>): RecordSink {
  const le = reader.littleEndian;
  return {
    record(view, start, end, type) {
      if (type !== PERF_RECORD_MMAP2) return;
      if ((view.getUint16(start + 4, le) & PERF_RECORD_MISC_MMAP_BUILD_ID) === 0) return;
      const event = reader.events.eventOf(view, start, end, type, le) ?? reader.events.events[0] ?? null;
      const { path, buildId, buildIdSize } = decodeRecord(
        view,
        start,
        end - start,
        event?.layout ?? null,
        le,
      ) as Mmap2Record;
      // Behind the kernel's name stands the symbol whose address the record tells.
      const name = path.replace(/^(\[kernel\.kallsyms\]).*$/s, '$1');
      if (buildId === undefined || into.has(name)) return;
      const bytes = buildId.subarray(0, buildIdSize ?? buildId.length);
      into.set(name, Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''));
    },
  };
}
