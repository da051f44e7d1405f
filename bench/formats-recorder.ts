/** One recording of the whole system, for `formats.ts`: options as JSON in, what it came to as JSON out. */
import { type RecordOptions, record } from '../packages/node/src/record/index.ts';

export interface RecorderReport {
  overflows: number;
  /** Of the format's programs, by the kernel's measurement. */
  handlerNs: number;
  /** Copied out of maps. */
  bytesRead: number;
  /** Size of the file. */
  fileBytes: number;
  samples: number;
  lost: Record<string, number>;
  /** User and system time of this process while the recording ran, its end included. */
  cpuSeconds: number;
  seconds: number;
}

const { seconds, ...options } = JSON.parse(process.argv[2]!) as RecordOptions & { seconds: number };
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
const lost: Record<string, number> = {};
for (const { kind, count } of result.loss) lost[kind] = (lost[kind] ?? 0) + Number(count);
const [format] = result.formats;
const report: RecorderReport = {
  overflows: Number(format?.overflows ?? 0) || result.samples,
  handlerNs: format?.costNs ?? 0,
  bytesRead: format?.bytesRead ?? 0,
  fileBytes: result.bytes,
  samples: result.samples,
  lost,
  cpuSeconds: (user + system) / 1e6,
  seconds: (performance.now() - begin) / 1000,
};
console.log(JSON.stringify(report));
