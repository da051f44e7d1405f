/**
 * Which code is where in each process, as the walk in the kernel reads it. User space writes it
 * down from /proc/PID/maps; the walk asks for that where it meets a process, a program or an
 * address that it does not know:
 *
 *   spaces   process ─> [ mm │ asked │ count ][ start, end, bias, tables ][ start, end, bias, tables ] ...   by start
 *   wanted   the processes that are asked for
 *
 * So nothing of the system is slower for it, and what was wrong is mended by the next look. A process that
 * runs another program has another `mm`.
 */
import { type BpfMapDefinition, bpfStruct } from '../../../../kernel/bpf/index.ts';
import { mappedArray } from '../../mapped-array.ts';

/** Stretches of code of one process: a power of two. */
export const MOST_MAPPINGS = 1024;
export const MOST_PROCESSES = 1024;

/** Code at `start`: an address less `bias` is a place in the file. Without pages it has no tables. */
export const CodeMapping = bpfStruct({
  start: 'u64',
  end: 'u64',
  bias: 'u64',
  firstPage: 'u32',
  pages: 'u32',
  basePage: 'u32',
  /** 1 where its tables are not there yet. */
  waits: 'u32',
});
export const Space = bpfStruct({ mm: 'u64', askedNs: 'u64', count: 'u64' });
export const Wanted = bpfStruct({ pid: 'u32', unused: 'u32' });

export const SPACE_BYTES = Space.sizeBytes + MOST_MAPPINGS * CodeMapping.sizeBytes;

export const spaces: BpfMapDefinition = {
  name: 'spaces',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: SPACE_BYTES,
  maxEntries: MOST_PROCESSES,
};

export const wanted: BpfMapDefinition = {
  name: 'wanted',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: 1 << 16,
};

/** Nothing but zeros: a space begins with it. */
export const blank = mappedArray('blank_space', SPACE_BYTES, 1);
