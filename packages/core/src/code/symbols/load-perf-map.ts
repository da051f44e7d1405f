import { type ByteSource, FormatError } from '../../base/index.ts';
import { type PerfMap, PerfMapParser, RECORDED_PERF_MAP } from '../jit/index.ts';
import type { CodeSymbols } from './code-symbols.ts';
import type { OpenedFile } from './driver.ts';
import type { LoadContext } from './load-context.ts';
import { malformedText } from './malformed-text.ts';
import { perfMapSymbols } from './perf-map-symbols.ts';

/** Beyond this only the end of a map is read: what was written last is what is still in memory. */
const MAX_MAP_BYTES = 1 << 30;
const PIECE_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** Names of code made at run time, from the map its process writes. */
export async function loadPerfMap(context: LoadContext): Promise<CodeSymbols | null> {
  const { path, pid } = context.binary;
  const known = context.options.perfMap?.(pid) ?? null;
  if (known !== null) return symbolsOf(known, context);
  const reported = context.diagnostics.length;
  const file: OpenedFile | null =
    (await recordedMap(context)) ??
    (await context.driver.open(
      {
        need: 'perf-map',
        path,
        buildId: '',
        pid,
        required: true,
        startMs: context.options.startMs?.(pid) ?? null,
      },
      context.diagnostics,
    ));
  if (file === null) {
    context.diagnostics.push(...(context.options.dumpProblems?.(pid) ?? []));
    if (context.diagnostics.length === reported)
      context.report(
        'no-perf-map',
        `there is no map of the generated code of process ${pid}, neither in the recording nor here`,
        'Recordings of counterpoint bring the map along if the process writes one: start Node.js with `node --perf-basic-prof --interpreted-frames-native-stack` (`record -- node app.js` does), Java with perf-map-agent, Python 3.12 with `python -X perf`. For a recording of perf, copy the map from the machine of the recording: DIR/tmp/perf-PID.map with `--symfs DIR`.',
      );
    return null;
  }
  try {
    return symbolsOf(await readMap(file, context), context);
  } finally {
    await file.close?.();
  }
}

function symbolsOf(map: PerfMap, context: LoadContext): CodeSymbols {
  if (map.damage.total > 0) context.report('perf-map-damaged', malformedText(map.damage.total, 'the map'));
  return perfMapSymbols(map);
}

/** The map that travels with the recording. If it is damaged, the one that is here is used. */
async function recordedMap({ binary, options, report }: LoadContext): Promise<OpenedFile | null> {
  try {
    return (await options.recordedFile?.(RECORDED_PERF_MAP, binary.pid)) ?? null;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    report('recorded-map-damaged', `the map in the recording is damaged: ${error.message}`);
    return null;
  }
}

/** Piece by piece: the names and addresses of a map take half of its bytes. */
async function readMap(file: ByteSource, context: LoadContext): Promise<PerfMap> {
  const from = Math.max(0, file.size - MAX_MAP_BYTES);
  if (from > 0)
    context.report(
      'perf-map-large',
      `the map has ${file.size} bytes: only the last ${MAX_MAP_BYTES} were read`,
    );
  const parser = new PerfMapParser(file.size - from);
  let isInLine = from > 0;
  for (let at = from; at < file.size; at += PIECE_BYTES) {
    const piece = await file.read(at, Math.min(PIECE_BYTES, file.size - at));
    if (piece.length === 0) break;
    const lineEnd = isInLine ? piece.indexOf(NEWLINE) : -1;
    if (isInLine && lineEnd === -1) continue;
    isInLine = false;
    parser.push(piece.subarray(lineEnd + 1));
  }
  return parser.finish();
}
