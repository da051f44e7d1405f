/** Options of hardware traces. */
import { parseSizeBytes } from '@counterpoint/core/base';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import type { RecordOptions } from '../../../linux/sample/record/index.ts';
import type { OptionRow } from '../../common/option-row.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';

export type TraceRowName = 'snapshot' | 'aux-sample';

/** perf's: a synchronisation point comes each 2 KiB at least. */
const DEFAULT_SAMPLE_BYTES = 4096;

/** The kernel's own limit is lower, and that of the memory to lock; this one keeps numbers whole. */
const MOST_PAGES = 2 ** 20;

export function traceRows(group: string): OptionRow<TraceRowName>[] {
  return [
    {
      long: 'snapshot',
      short: 'S',
      value: '[e][SIZE]',
      optionalValue: 'all',
      help: 'keep only the newest data of a hardware trace, and write them at SIGUSR2 or at the word snapshot of --control; e: also at the end; SIZE: write at most this much',
      group,
    },
    {
      long: 'aux-sample',
      value: 'SIZE',
      optionalValue: String(DEFAULT_SAMPLE_BYTES),
      help: 'put the last SIZE of a hardware trace (default 4K) into each sample of the events in its group, such as {intel_pt//u,branch-misses:u}',
      group,
    },
  ];
}

/** `RING,AREA`: each in pages or as a size, and each may be left out. */
export function bufferSizes(
  args: Pick<ParsedArguments<'mmap-pages'>, 'string' | 'refuse'>,
): Pick<RecordOptions, 'mmapPages' | 'traceBytes'> {
  const text = args.string('mmap-pages');
  if (text === undefined) return {};
  const [ring = '', area = '', ...rest] = text.split(',');
  if (rest.length > 0 || (ring === '' && area === '')) throw args.refuse('mmap-pages', EXPECTED);
  return {
    ...(ring === '' ? {} : { mmapPages: pagesOf(args, ring) }),
    ...(area === '' ? {} : { traceBytes: pagesOf(args, area) * realSys.pageSizeBytes() }),
  };
}

const EXPECTED = 'a number of pages or a size such as 512K, and after a comma that of the trace';

function pagesOf(args: Pick<ParsedArguments<'mmap-pages'>, 'string' | 'refuse'>, text: string): number {
  const pageBytes = realSys.pageSizeBytes();
  if (/^\d+$/.test(text)) {
    const pages = Number(text);
    if (pages >= 1 && pages <= MOST_PAGES) return pages;
    throw args.refuse('mmap-pages', `a value from 1 to ${MOST_PAGES}`);
  }
  const bytes = parseSizeBytes(text);
  if (bytes === null || bytes < 1) throw args.refuse('mmap-pages', EXPECTED);
  const pages = Math.ceil(bytes / pageBytes);
  if (pages <= MOST_PAGES) return pages;
  throw args.refuse('mmap-pages', `at most ${MOST_PAGES} pages or ${(MOST_PAGES * pageBytes) / 2 ** 30}G`);
}

/** perf's: `e` for one at the end, and a size, in any order of neither. */
export function snapshotOptions(
  args: Pick<ParsedArguments<'snapshot'>, 'string' | 'refuse'>,
): Pick<RecordOptions, 'traceSnapshots' | 'traceSnapshotBytes'> {
  const text = args.string('snapshot');
  if (text === undefined) return {};
  const [, end, size] = /^(e?)(.*)$/.exec(text)!;
  const traceSnapshots = end === 'e' ? 'and-at-end' : 'when-asked';
  if (size === '' || text === 'all') return { traceSnapshots };
  const bytes = parseSizeBytes(size!) ?? (/^0x[0-9a-f]+$/i.test(size!) ? Number(size) : null);
  if (bytes === null || bytes < 1) throw args.refuse('snapshot', 'e, a size such as 1M, or both: e1M');
  return { traceSnapshots, traceSnapshotBytes: bytes };
}
