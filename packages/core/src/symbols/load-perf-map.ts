import type { ByteSource } from '../base/index.ts';
import { parsePerfMap } from '../jit/index.ts';
import type { CodeSymbols } from './code-symbols.ts';
import type { LoadContext } from './load.ts';
import { perfMapSymbols } from './perf-map-symbols.ts';

/** Beyond this only the end of a map is read: what was written last is what is still in memory. */
const MAX_MAP_BYTES = 1 << 30;

/** Names of code made at run time, from the map its process writes. */
export async function loadPerfMap(context: LoadContext): Promise<CodeSymbols | null> {
  const { path, pid } = context.binary;
  const reported = context.diagnostics.length;
  const file = await context.driver.open(
    { need: 'perf-map', path, buildId: '', pid, required: true },
    context.diagnostics,
  );
  if (file === null) {
    if (context.diagnostics.length === reported)
      context.report(
        'no-perf-map',
        `process ${pid} wrote no map of the code it made`,
        'For Node.js, record with `node --perf-basic-prof` (or NODE_OPTIONS=--perf-basic-prof); for Java, with perf-map-agent; for Python 3.12, with `python -X perf`.',
      );
    return null;
  }
  try {
    const map = parsePerfMap(await readTail(file, context));
    if (map.damage.total > 0)
      context.report('perf-map-damaged', `${map.damage.total} lines of the map are not of its form`);
    return perfMapSymbols(map);
  } finally {
    await file.close?.();
  }
}

async function readTail(file: ByteSource, context: LoadContext): Promise<Uint8Array> {
  if (file.size <= MAX_MAP_BYTES) return file.read(0, file.size);
  context.report(
    'perf-map-large',
    `the map has ${file.size} bytes: only the last ${MAX_MAP_BYTES} were read`,
  );
  const bytes = await file.read(file.size - MAX_MAP_BYTES, MAX_MAP_BYTES);
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}
