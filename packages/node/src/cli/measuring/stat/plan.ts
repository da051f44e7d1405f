import { planCounting } from '../../../linux/count/counting/index.ts';
import { startsByExec, targetsOf } from '../../../linux/count/stat/index.ts';
import { EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { COMMAND_PID, printPlan } from '../shared/plan-output.ts';
import type { StatSettings } from './settings.ts';

/** `stat --plan`: nothing is opened. */
export function printStatPlan(settings: StatSettings, asJson: boolean, out: Output): number {
  const { scope, control, options } = settings;
  const plans =
    control === null
      ? []
      : targetsOf(scope, COMMAND_PID).flatMap(({ cgroup, target }) => {
          const enableOnExec = startsByExec(target, settings);
          const { sets } = planCounting({ ...control, target, ...options, enableOnExec });
          return sets.map((set) => ({ name: set.name, cgroup, events: set.events, rows: set.rows }));
        });
  printPlan({ verb: 'stat', plans, asJson }, out);
  return EXIT_OK;
}
