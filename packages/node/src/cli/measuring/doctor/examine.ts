import { exclusiveHolder } from '../../../linux/count/counting/index.ts';
import {
  checkIntelPt,
  examinePmus,
  readCpuIdentities,
  SysfsPmu,
} from '../../../linux/kernel/local-pmus/index.ts';
import { removeLeftovers } from '../../../linux/kernel/perf-events/index.ts';
import {
  type Check,
  type Examination,
  examineMachine,
  realFiles,
} from '../../../linux/kernel/probe/index.ts';
import { realSys } from '../../../linux/kernel/sys/index.ts';
import { onlineCpus, parseCpuList } from '../../../linux/kernel/target/index.ts';
import { buildIdOf, checkDebugSymbols, libraryPath } from './symbols.ts';

const DEVICES = '/sys/bus/event_source/devices';

/** What every room says of this machine, in the order in which it is shown. */
export async function examineEverything(): Promise<Examination> {
  removeLeftovers(realSys);
  const examination = examineMachine(realSys, onlineCpus().length);
  const cpusOf = (pmu: string) => {
    const text = SysfsPmu.read(DEVICES, pmu)?.cpus;
    return text === undefined ? null : parseCpuList(text);
  };
  const path = libraryPath(realFiles);
  const library = { path, buildId: path === null ? '' : await buildIdOf(path) };
  const pmus = examinePmus(realSys, realFiles, readCpuIdentities(), cpusOf);
  return {
    ...examination,
    checks: [
      ...after(examination.checks, 'hardware counters', [...pmus, checkIntelPt(realFiles), checkExclusive()]),
      checkDebugSymbols(realFiles, library, process.env),
    ],
  };
}

function after(checks: readonly Check[], name: string, more: readonly Check[]): Check[] {
  return checks.flatMap((check) => (check.name === name ? [check, ...more] : [check]));
}

/** The lock of programs that count with `exclusive: 'require'`. */
function checkExclusive(): Check {
  const name = 'exclusive use';
  const holder = exclusiveHolder(realSys);
  const facts = { holder };
  if (holder === null)
    return {
      name,
      state: 'ok',
      why: 'no other program has exclusive use of the counters',
      fix: '',
      facts,
      isDetail: true,
    };
  const why = `${holder} has exclusive use of the counters`;
  return { name, state: 'forbidden', why, fix: 'Wait until it ends, or count without `exclusive`.', facts };
}
