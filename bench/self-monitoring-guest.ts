/** What `self-monitoring.ts` runs in the guest with hardware counters. */
import { writeFileSync } from 'node:fs';
import { hardwareCosts } from './self-monitoring-cost.ts';

writeFileSync('/proc/sys/kernel/perf_user_access', '1');
for (const events of [['cycles'], ['cycles', 'instructions']]) {
  try {
    hardwareCosts(events, 200);
  } catch (error) {
    console.log(`${events.join(', ')}: ${(error as Error).message}`);
  }
}
