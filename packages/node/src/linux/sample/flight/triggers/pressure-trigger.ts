import { readFileSync } from 'node:fs';
import { parseDurationMs } from '@counterpoint/core/base';
import { badTrigger, noTrigger, type TriggerKind } from './trigger.ts';

const RESOURCES = ['cpu', 'memory', 'io', 'irq'];
const DEFAULT_WINDOW_MS = 1000;
const SHORTEST_WINDOW_MS = 100;
const LONGEST_WINDOW_MS = 60_000;
const US_PER_MS = 1000;

/**
 * Pressure stall information (Documentation/accounting/psi.rst): `some avg10=… total=MICROSECONDS` counts the
 * time in which some task waited for the resource. Read once in each window; the file costs microseconds.
 */
export const PRESSURE: TriggerKind = {
  name: 'psi',
  form: 'psi:RESOURCE:PERCENT[:WINDOW]',
  help: 'tasks of this machine wait for cpu, memory, io or irq for this part of the time (in a window of 1 s, or 100ms to 60s)',
  example: 'psi:cpu:20%',
  parse(argument, text) {
    const match = /^(\w+):(\d+(?:\.\d+)?)%(?::(.+))?$/.exec(argument ?? '');
    const [, resource = '', percent = '', window] = match ?? [];
    const windowMs = window === undefined ? DEFAULT_WINDOW_MS : parseDurationMs(window);
    const isWindow = windowMs !== null && windowMs >= SHORTEST_WINDOW_MS && windowMs <= LONGEST_WINDOW_MS;
    if (
      match === null ||
      !RESOURCES.includes(resource) ||
      !isWindow ||
      Number(percent) > 100 ||
      Number(percent) === 0
    )
      throw badTrigger(
        text,
        'it needs a resource and a share of time, above 0 % and up to 100 %',
        `Resources are ${RESOURCES.join(', ')}; a window is from 100ms to 60s: psi:memory:5%:10s.`,
      );
    const path = `/proc/pressure/${resource}`;
    const share = Number(percent) / 100;
    return {
      text,
      start({ fire, fail }) {
        let [lastUs, lastMs] = [stalledUs(path, text), performance.now()];
        let isOver = false;
        const look = () => {
          const [nowUs, nowMs] = [stalledUs(path, text), performance.now()];
          // The kernel's sums are of another moment than ours.
          const stalled = Math.min((nowUs - lastUs) / US_PER_MS / (nowMs - lastMs), 1);
          [lastUs, lastMs] = [nowUs, nowMs];
          // Once for each time that it rises above.
          if (stalled >= share && !isOver) fire(`${text}: ${(stalled * 100).toFixed(1)} %`);
          isOver = stalled >= share;
        };
        const timer = setInterval(() => {
          try {
            look();
          } catch (error) {
            clearInterval(timer);
            fail(error);
          }
        }, windowMs);
        return { [Symbol.dispose]: () => clearInterval(timer) };
      },
    };
  },
};

function stalledUs(path: string, text: string): number {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw noTrigger(
      text,
      `${path} cannot be read (${code})`,
      'The kernel needs CONFIG_PSI, and psi=1 on its command line if that is not the default.',
    );
  }
  // Interrupts have the second line alone: there all tasks wait.
  return Number(/^(?:some|full) .*total=(\d+)/m.exec(content)?.[1] ?? 0);
}
