/**
 * The architecture as a table: a line a floor, from the ground up. Change it with a reason.
 *
 * A floor is a folder of rooms. A room imports the rooms that stand before it in its line, and all rooms of
 * the floors that its line names. A floor without rooms is one itself, and so is a file that lies in the
 * folder of a floor beside its rooms.
 */
export interface Floor {
  /** Its folder, below `src` of its package. */
  readonly name: string;
  /** The floors that it stands on. */
  readonly on: readonly string[];
  readonly rooms: readonly string[];
}

function floor(name: string, on: string, rooms = ''): Floor {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  return { name, on: words(on), rooms: words(rooms) };
}

export const FLOORS: Readonly<Record<string, readonly Floor[]>> = {
  core: [
    floor('base', ''),
    floor('format', 'base', 'abi loss records branches ring'),
    floor('events', 'base format', 'names pmus'),
    floor('file-formats', 'base format events', 'perfdata counts history'),
    floor('code', 'base format file-formats', 'elf jit machine symbols source-maps unwind'),
    floor('profile', 'base format file-formats code', 'tables ingest javascript'),
    floor(
      'answers',
      'base format file-formats code profile',
      'record-text query branch-report diff loop script report index export',
    ),
    floor('recording', 'base code', 'archive'),
    floor('entries', 'base format events file-formats code profile answers recording'),
  ],
  trace: [
    floor('code', '', 'instructions image'),
    floor('pt', 'code', 'pebs packets time dump text flow graph answers execution perf-data parallel index'),
    floor('perf', 'code pt', 'auxtrace samples'),
    floor('entries', 'code pt perf'),
  ],
  node: [
    floor(
      'host',
      '',
      'files leftovers options locate build-id-cache history-files archive-files open trace-threads',
    ),
    floor('linux/kernel', 'host', 'sys machine-code probe target local-pmus perf-events bpf'),
    floor('linux/stepping', 'linux/kernel', 'code-cache softpmu'),
    floor(
      'linux/count',
      'host linux/kernel',
      'requests sets overflows published counting stat self-monitoring benchmarks',
    ),
    floor(
      'linux/sample',
      'host linux/kernel linux/stepping',
      'reader formats v8 trace-pmus record flight profiler',
    ),
    floor('entries', 'host linux/kernel linux/count linux/sample'),
    floor('cli/start', ''),
    floor('cli/common', 'host'),
    floor('cli/reading', 'host cli/common', 'contents report annotate diff export convert archive inject pt'),
    floor(
      'cli/measuring',
      'host linux/kernel linux/stepping linux/count linux/sample cli/start cli/common',
      'shared list doctor version record pt-record stat top off-cpu flight loop',
    ),
    floor('cli', 'linux/kernel linux/sample cli/common cli/reading cli/measuring', 'topics main'),
  ],
};

/** Packages of ours that a package may import. No room of core knows a decoder of traces. */
export const OURS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  trace: ['@counterpoint/core'],
  node: ['@counterpoint/core', '@counterpoint/trace'],
};

/** Packages of others that are there at run time, and the rooms that may import them. */
export const PACKAGES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  core: { fzstd: ['file-formats/perfdata', 'code/elf'] },
  node: { koffi: ['linux/kernel/sys'], '@swc/wasm-typescript': ['linux/sample/formats'] },
};
