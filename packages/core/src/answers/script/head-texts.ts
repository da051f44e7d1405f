import { printable } from '../../base/index.ts';

/** Far more than a machine has threads that run at a time, and little memory. */
const MOST_TEXTS = 1 << 14;

/**
 * The words at the beginning of a line that samples have in common, each made once, in the widths of perf:
 *
 *                 node  2493/2501  [000]
 *                 command pid/tid  cpu
 */
export class HeadTexts {
  readonly command = kept((name: string) => `${printable(name)} `);
  readonly paddedCommand = kept((name: string) => `${printable(name).padStart(16)} `);
  /** Of a process or a thread alone. */
  readonly number = kept((id: number) => `${String(id).padStart(5)} `);
  readonly processBefore = kept((pid: number) => `${String(pid).padStart(5)}/`);
  readonly threadBehind = kept((tid: number) => `${String(tid).padEnd(5)} `);
  readonly cpu = kept((cpu: number) => `[${String(cpu).padStart(3, '0')}] `);
}

function kept<Key>(make: (key: Key) => string): (key: Key) => string {
  const texts = new Map<Key, string>();
  return (key) => {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const text = make(key);
    // A recording may have any number of them.
    if (texts.size >= MOST_TEXTS) texts.clear();
    texts.set(key, text);
    return text;
  };
}
