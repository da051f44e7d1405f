// One recording of the whole system, for `formats.ts`, by the library as it is built: options as JSON
// in, what it came to as JSON out.
import { record } from 'counterpoint';

const { seconds, ...options } = JSON.parse(process.argv[2]);
const abort = new AbortController();
let cpu = process.cpuUsage();
let begin = 0;
const result = await record({
  ...options,
  signal: abort.signal,
  onStart: () => {
    cpu = process.cpuUsage();
    begin = performance.now();
    setTimeout(() => abort.abort(), seconds * 1000);
  },
});
const { user, system } = process.cpuUsage(cpu);
const lost = {};
for (const { kind, count } of result.loss) lost[kind] = (lost[kind] ?? 0) + Number(count);
const [format] = result.formats;
console.log(
  JSON.stringify({
    overflows: Number(format?.overflows ?? 0) || result.samples,
    handlerNs: format?.costNs ?? 0,
    bytesRead: format?.bytesRead ?? 0,
    fileBytes: result.bytes,
    lost,
    cpuSeconds: (user + system) / 1e6,
    seconds: (performance.now() - begin) / 1000,
  }),
);
