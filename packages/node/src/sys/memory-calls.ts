import { checked, lastErrno, libc, viewMemory } from './ffi.ts';
import { Mapping } from './handles.ts';
import type { MemoryCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

const mmapCall = libc(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset)',
);
const munmapCall = libc('int munmap(void *address, size_t length)');

// Linux, all architectures that Node runs on (asm-generic/mman-common.h).
const PROT_READ = 1;
const PROT_WRITE = 2;
const MAP_SHARED = 0x01;
const MAP_PRIVATE = 0x02;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/** Address space of closed mappings goes back when nobody can reach their views any more. */
const unreachable = new FinalizationRegistry<{ address: bigint; sizeBytes: number }>(
  ({ address, sizeBytes }) => void munmapCall(address, sizeBytes),
);

export const memoryCalls: MemoryCalls = {
  // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
  mmap(fd, sizeBytes) {
    const address = mapAt(null, sizeBytes, MAP_SHARED, fd.number);
    const buffer = viewMemory(address, sizeBytes);
    return new Mapping(buffer, () => {
      // A stale view over unmapped memory would end the process. Zero pages in the same place let the ring go at once
      // and cost nothing but address space, which is given back with the last view.
      mapAt(address, sizeBytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
      unreachable.register(buffer, { address, sizeBytes });
    });
  },
};

function mapAt(at: bigint | null, sizeBytes: number, flags: number, fd: number): bigint {
  const address = BigInt(mmapCall(at, sizeBytes, PROT_READ | PROT_WRITE, flags, fd, 0));
  if (address === MAP_FAILED) throw new SysError('mmap', lastErrno(), { sizeBytes, fd });
  return address;
}

// int munmap(void *addr, size_t length): only above, when a mapping's last view is gone.

/** long sysconf(int name) */
const sysconf = libc('long sysconf(int name)');
const SC_PAGESIZE = 30;

export function pageSizeBytes(): number {
  return checked(sysconf(SC_PAGESIZE), 'sysconf', { name: '_SC_PAGESIZE' });
}
