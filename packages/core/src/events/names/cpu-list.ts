/** More than any kernel is built for (NR_CPUS). */
const MOST_CPUS = 65_536;

/** `0-3,8` in the kernel's form, or `null` for what is not one. */
export function parseCpus(text: string): ReadonlySet<number> | null {
  const cpus = new Set<number>();
  for (const piece of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(piece.trim());
    if (match === null) return null;
    const last = Number(match[2] ?? match[1]);
    if (last >= MOST_CPUS) return null;
    for (let cpu = Number(match[1]); cpu <= last; cpu++) cpus.add(cpu);
  }
  return cpus;
}

/** The other way: sorted, neighbours as ranges; empty for none. */
export function formatCpus(cpus: Iterable<number>): string {
  const sorted = [...cpus].sort((a, b) => a - b);
  const ranges: string[] = [];
  for (let index = 0; index < sorted.length; index++) {
    const first = sorted[index]!;
    while (sorted[index + 1] === sorted[index]! + 1) index++;
    ranges.push(first === sorted[index] ? String(first) : `${first}-${sorted[index]}`);
  }
  return ranges.join(',');
}
