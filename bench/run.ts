/** `npm run bench [NAME...]`: the named benchmarks, or all. */

import { benchAux } from './aux-copy.ts';
import { benchBpfRing } from './bpf-ring.ts';
import { benchDiff } from './diff.ts';
import { benchFlight } from './flight.ts';
import { benchFormats } from './formats.ts';
import { benchJavascript } from './javascript.ts';
import { benchOverlap } from './javascript-overlap.ts';
import { benchLoop } from './loop.ts';
import { missingTool } from './measure.ts';
import { benchMonitors } from './monitors.ts';
import { benchNode } from './node-recording.ts';
import { benchPtCalls } from './pt-calls.ts';
import { benchPtInterpreter } from './pt-interpreter.ts';
import { benchPtPackets } from './pt-packets.ts';
import { benchPtProfile } from './pt-profile.ts';
import { benchPtWorkers } from './pt-workers.ts';
import { benchRecordLoss } from './record-loss.ts';
import { benchRecord } from './record-overhead.ts';
import { benchReport } from './report.ts';
import { benchScript } from './script.ts';
import { benchSelfMonitoring } from './self-monitoring.ts';
import { benchSetSwitch } from './set-switch.ts';
import { benchSources } from './sources.ts';
import { benchStart } from './start.ts';
import { benchStat } from './stat.ts';
import { benchStep } from './step.ts';
import { benchStream } from './stream.ts';
import { benchTranslated } from './translated.ts';
import { benchStorm } from './trigger-storm.ts';
import { benchUnwind } from './unwind.ts';

const BENCHMARKS: Record<string, () => Promise<void> | void> = {
  start: benchStart,
  record: benchRecord,
  'record-loss': () => benchRecordLoss(),
  report: benchReport,
  script: benchScript,
  unwind: benchUnwind,
  sources: benchSources,
  'self-monitoring': benchSelfMonitoring,
  'set-switch': benchSetSwitch,
  stat: benchStat,
  step: benchStep,
  translated: benchTranslated,
  'bpf-ring': benchBpfRing,
  stream: benchStream,
  aux: benchAux,
  flight: benchFlight,
  storm: benchStorm,
  monitors: benchMonitors,
  loop: benchLoop,
  javascript: benchJavascript,
  overlap: benchOverlap,
  node: benchNode,
  diff: benchDiff,
  formats: () => benchFormats(),
  'pt-packets': benchPtPackets,
  'pt-profile': benchPtProfile,
  'pt-interpreter': benchPtInterpreter,
  'pt-workers': benchPtWorkers,
  'pt-calls': benchPtCalls,
};

const missing = missingTool();
if (missing !== null) {
  console.error(`The benchmarks need ${missing}.`);
  process.exit(1);
}
const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}.`);
  process.exit(1);
}
for (const [name, benchmark] of Object.entries(BENCHMARKS)) {
  if (names.length === 0 || names.includes(name)) await benchmark();
}
