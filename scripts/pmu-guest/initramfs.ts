export interface InitramfsFile {
  path: string;
  bytes: Uint8Array;
  isExecutable: boolean;
}

const FOLDER_MODE = 0o040755;
const FILE_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;

/**
 * An initial RAM disk: a cpio archive of the "newc" kind (the kernel's
 * Documentation/driver-api/early-userspace/ buffer-format). Each entry:
 *
 *   "070701" 13 numbers of 8 hexadecimal digits, path, NUL | padding to 4 | bytes | padding to 4
 */
export function encodeInitramfs(folders: string[], files: InitramfsFile[]): Buffer {
  const entries = [
    ...folders.map((path) => ({ path, mode: FOLDER_MODE, bytes: new Uint8Array() })),
    ...files.map(({ path, bytes, isExecutable }) => ({
      path,
      mode: isExecutable ? PROGRAM_MODE : FILE_MODE,
      bytes,
    })),
    { path: 'TRAILER!!!', mode: 0, bytes: new Uint8Array() },
  ];
  return Buffer.concat(entries.flatMap(({ path, mode, bytes }, i) => entry(i + 1, path, mode, bytes)));
}

function entry(inode: number, path: string, mode: number, bytes: Uint8Array): Uint8Array[] {
  const nameSize = Buffer.byteLength(path) + 1;
  // inode, mode, uid, gid, links, time, file size, device (2), device of a special
  // file (2), name size, checksum
  const numbers = [inode, mode, 0, 0, 1, 0, bytes.length, 0, 0, 0, 0, nameSize, 0];
  const digits = numbers.map((number) => number.toString(16).padStart(8, '0')).join('');
  const header = Buffer.from(`070701${digits}${path}\0`);
  return [header, padding(header.length), bytes, padding(bytes.length)];
}

function padding(size: number): Uint8Array {
  return new Uint8Array(-size & 3);
}
