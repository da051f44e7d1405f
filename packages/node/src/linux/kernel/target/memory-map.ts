/** One line of /proc/PID/maps. */
export interface MappedArea {
  start: bigint;
  length: bigint;
  pageOffset: bigint;
  major: number;
  minor: number;
  inode: bigint;
  /** PROT_READ 1, PROT_WRITE 2, PROT_EXEC 4. */
  protection: number;
  /** MAP_SHARED 1, MAP_PRIVATE 2. */
  flags: number;
  /** `//anon` where there is no file, as perf names it. */
  path: string;
}

export const PROT_EXEC = 4;

const LINE =
  /^([0-9a-f]+)-([0-9a-f]+) ([r-])([w-])([x-])([ps]) ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) *(.*)$/;

/**
 * The executable areas of a maps file, and those of files that can be read where `withData` is set. Lines
 * that are not understood are left out. With thousands of processes most lines are data, so they are
 * dropped before they are parsed.
 */
export function parseMappedAreas(maps: string, withData = false): MappedArea[] {
  const areas: MappedArea[] = [];
  for (const line of maps.split('\n')) {
    const rights = line.indexOf(' ') + 1;
    const isData = withData && line[rights] === 'r' && line.includes('/');
    if (line[rights + 2] !== 'x' && !isData) continue;
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, start, end, r, w, x, share, offset, major, minor, inode, path] = match as unknown as string[];
    const from = BigInt(`0x${start}`);
    areas.push({
      start: from,
      length: BigInt(`0x${end}`) - from,
      pageOffset: BigInt(`0x${offset}`),
      major: Number.parseInt(major!, 16),
      minor: Number.parseInt(minor!, 16),
      inode: BigInt(inode!),
      protection: (r === 'r' ? 1 : 0) | (w === 'w' ? 2 : 0) | (x === 'x' ? PROT_EXEC : 0),
      flags: share === 's' ? 1 : 2,
      // The kernel writes a newline in a file name as \012 here, and as itself in its own MMAP2 records.
      path: path === '' ? '//anon' : path!.replaceAll('\\012', '\n'),
    });
  }
  return areas;
}
