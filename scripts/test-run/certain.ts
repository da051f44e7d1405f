/**
 * Which test files cannot fail by chance: what they reach through their imports starts no process and no
 * thread, calls no kernel and reads no clock. Such a file that fails is wrong, and is not tried again.
 */
import { importsOf } from './import-graph.ts';

/** What makes a run differ from the next one, as it stands in a source. */
const CHANCE =
  /['"]node:(?:child_process|worker_threads|cluster|timers|timers\/promises|perf_hooks|inspector|net|http|https|dgram)['"]|['"]koffi['"]|\bnew Date\(\)|\bDate\.now\b|\bperformance\.(?:now|timeOrigin)\b|\bprocess\.(?:hrtime|cpuUsage)\b|\bset(?:Timeout|Interval|Immediate)\b|\bAtomics\.wait\b|\bnew Worker\b|\bMath\.random\b/;
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Whether nothing that the file reaches is left to chance. `texts`: sources by their paths. */
export function isCertain(path: string, texts: ReadonlyMap<string, string>): boolean {
  return chanceIn(path, texts) === null;
}

/**
 * The first source reached from the file that starts a process or a thread, or reads
 * a clock; null: there is none.
 */
export function chanceIn(path: string, texts: ReadonlyMap<string, string>): string | null {
  const reached = new Set([path]);
  for (const source of reached) {
    const text = texts.get(source);
    // Data, or a path in a text.
    if (text === undefined) continue;
    if (CHANCE.test(text.replace(COMMENTS, ''))) return source;
    for (const imported of importsOf(source, text)) reached.add(imported);
  }
  return null;
}
