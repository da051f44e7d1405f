import { checked, functionAt, lastErrno, libc, symbolAddress, viewMemory } from './ffi.ts';
import { Mapping, NativeCode } from './handles.ts';
import type { MemoryCalls } from './sys.ts';
import { SysError } from './sys-error.ts';

const mmapCall = libc(
  'void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset)',
);
const munmapCall = libc('int munmap(void *address, size_t length)');
const mprotectCall = libc('int mprotect(void *address, size_t length, int protection)');
const memcpyCall = libc('void *memcpy(void *to, const void *from, size_t count)');

// Linux, all architectures that Node runs on (asm-generic/mman-common.h).
const PROT_READ = 1;
const PROT_WRITE = 2;
const PROT_EXEC = 4;
const PROT_READ_WRITE = PROT_READ | PROT_WRITE;
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
  mmap: (fd, sizeBytes) => owned(mapAt(null, sizeBytes, PROT_READ_WRITE, MAP_SHARED, fd.number), sizeBytes),
  mapEventPage(fd) {
    const sizeBytes = pageSizeBytes();
    return owned(mapAt(null, sizeBytes, PROT_READ, MAP_SHARED, fd.number), sizeBytes);
  },
  mapFile(fd, sizeBytes, access) {
    const protection = access === 'write' ? PROT_READ_WRITE : PROT_READ;
    return owned(mapAt(null, sizeBytes, protection, MAP_SHARED, fd.number), sizeBytes);
  },
  mapRange(fd, offsetBytes, sizeBytes, access) {
    const protection = access === 'write' ? PROT_READ_WRITE : PROT_READ;
    return owned(mapAt(null, sizeBytes, protection, MAP_SHARED, fd.number, offsetBytes), sizeBytes);
  },
  mapAnonymous: (sizeBytes) =>
    owned(mapAt(null, sizeBytes, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), sizeBytes),
  // int mprotect(void *addr, size_t len, int prot)
  loadCode(code) {
    const sizeBytes = code.byteLength;
    const address = mapAt(null, sizeBytes, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    const unmap = () => void munmapCall(address, sizeBytes);
    try {
      memcpyCall(address, code, sizeBytes);
      // Never writable and executable at once. A page that becomes executable for the first time is
      // also when Linux makes arm64's instruction cache see what was written (arch/arm64/mm/flush.c),
      // so no flush is needed here.
      const result = mprotectCall(address, sizeBytes, PROT_READ | PROT_EXEC);
      checked(result, 'mprotect', { sizeBytes, protection: 'read+exec' });
      return new NativeCode(address, sizeBytes, functionAt(address), unmap);
    } catch (error) {
      unmap();
      throw error;
    }
  },
  symbolAddress,
};

/** A view of mapped memory, and what closing it does. */
function owned(address: bigint, sizeBytes: number): Mapping {
  const buffer = viewMemory(address, sizeBytes);
  const close = () => {
    // A stale view over unmapped memory would end the process. Zero pages in the same place let the ring go
    // at once and cost nothing but address space, which is given back with the last view.
    mapAt(address, sizeBytes, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
    unreachable.register(buffer, { address, sizeBytes });
  };
  return new Mapping(buffer, close, address);
}

function mapAt(
  at: bigint | null,
  sizeBytes: number,
  protection: number,
  flags: number,
  fd: number,
  offsetBytes = 0,
): bigint {
  const address = BigInt(mmapCall(at, sizeBytes, protection, flags, fd, offsetBytes));
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
