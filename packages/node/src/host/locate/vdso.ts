import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Two pages on x86-64 and arm64, four at most; what claims more is not read. */
const MAX_VDSO_BYTES = 1 << 20;

/** The vdso that the kernel maps into every process, read out of this one. Null if there is none. */
export async function readVdso(procSelf = '/proc/self'): Promise<Uint8Array<ArrayBuffer> | null> {
  const line = /^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$/m.exec(readFileSync(`${procSelf}/maps`, 'latin1'));
  if (line === null) return null;
  const start = Number.parseInt(line[1]!, 16);
  const size = Number.parseInt(line[2]!, 16) - start;
  if (size > MAX_VDSO_BYTES) return null;
  const memory = await open(`${procSelf}/mem`, 'r');
  try {
    const bytes = new Uint8Array(size);
    const { bytesRead } = await memory.read(bytes, 0, size, start);
    return bytesRead === size ? bytes : null;
  } finally {
    await memory.close();
  }
}
