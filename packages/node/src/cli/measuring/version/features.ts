import { createRequire } from 'node:module';
import zlib from 'node:zlib';

/** What perf has as a choice of its build, and here is there, or depends on what is installed. */
export interface Feature {
  /** perf's name, or ours where perf has none. */
  readonly name: string;
  /** perf's macro, by which `perf check feature` knows it, too. */
  readonly macro: string;
  readonly isOn: boolean;
  /** How it is there, or what to do. */
  readonly how: string;
}

const OWN = 'built in';
const NOT_USED = 'not used here';

/** Every feature, by what is installed now. Nothing is recorded or opened for it. */
export async function features(): Promise<Feature[]> {
  const calls = process.platform === 'linux' && isInstalled('koffi');
  const ownZstd = 'zstdCompressSync' in zlib;
  const disassembler = isInstalled('@alexaltea/capstone-js');
  const pfm = calls && (await hasLibPfm());
  const on = (name: string, macro: string, how = OWN): Feature => ({ name, macro, isOn: true, how });
  const off = (name: string, macro: string): Feature => ({ name, macro, isOn: false, how: NOT_USED });
  const where = (name: string, macro: string, isOn: boolean, how: string, remedy: string): Feature => ({
    name,
    macro,
    isOn,
    how: isOn ? how : remedy,
  });
  const linux = 'npm install koffi, on Linux';
  return [
    where('perf_events', 'HAVE_PERF_EVENTS_SUPPORT', calls, "the kernel's calls by koffi", linux),
    off('aio', 'HAVE_AIO_SUPPORT'),
    on('auxtrace', 'HAVE_AUXTRACE_SUPPORT', 'Intel PT is decoded'),
    where('bpf', 'HAVE_LIBBPF_SUPPORT', calls, 'programs are assembled here', linux),
    off('bpf_skeletons', 'HAVE_BPF_SKEL'),
    on('debuginfod', 'HAVE_DEBUGINFOD_SUPPORT', 'where DEBUGINFOD_URLS is set'),
    on('dwarf', 'HAVE_DWARF_SUPPORT'),
    on('dwarf_getlocations', 'HAVE_DWARF_GETLOCATIONS_SUPPORT'),
    on('dwarf-unwind', 'HAVE_DWARF_UNWIND_SUPPORT'),
    off('libbfd', 'HAVE_LIBBFD_SUPPORT'),
    where(
      'libcapstone',
      'HAVE_LIBCAPSTONE_SUPPORT',
      disassembler,
      'capstone',
      'npm install @alexaltea/capstone-js',
    ),
    off('libcrypto', 'HAVE_LIBCRYPTO_SUPPORT'),
    off('libdw-dwarf-unwind', 'HAVE_LIBDW_SUPPORT'),
    on('libelf', 'HAVE_LIBELF_SUPPORT'),
    off('libnuma', 'HAVE_LIBNUMA_SUPPORT'),
    off('libopencsd', 'HAVE_CSTRACE_SUPPORT'),
    off('libperl', 'HAVE_LIBPERL_SUPPORT'),
    where('libpfm4', 'HAVE_LIBPFM', pfm, "the system's libpfm4", 'install libpfm4'),
    off('libpython', 'HAVE_LIBPYTHON_SUPPORT'),
    off('libslang', 'HAVE_SLANG_SUPPORT'),
    on('libtraceevent', 'HAVE_LIBTRACEEVENT'),
    off('libunwind', 'HAVE_LIBUNWIND_SUPPORT'),
    on('lzma', 'HAVE_LZMA_SUPPORT'),
    on('zlib', 'HAVE_ZLIB_SUPPORT'),
    on('zstd', 'HAVE_ZSTD_SUPPORT', ownZstd ? "Node's" : "record -z by the system's libzstd"),
  ];
}

async function hasLibPfm(): Promise<boolean> {
  const { systemPfmLibrary } = await import('../../../linux/kernel/local-pmus/index.ts');
  try {
    systemPfmLibrary();
    return true;
  } catch {
    return false;
  }
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** perf's form of a line: `                 zlib: [ on  ]  # HAVE_ZLIB_SUPPORT`. */
export function featureLine({ name, macro, isOn }: Feature): string {
  return `${name.padStart(22)}: [ ${isOn ? 'on ' : 'OFF'} ]  # ${macro}`;
}
