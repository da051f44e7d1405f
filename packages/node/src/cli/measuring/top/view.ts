/** What `top` has to show at a moment, before it is laid out. */
import type { LossEntry } from '@counterpoint/core/loss';
import type { Profile } from '@counterpoint/core/profile';
import {
  copyOfSamples,
  partOfSamples,
  type TopAnswer,
  type TopRow,
  topFunctions,
} from '@counterpoint/core/query';
import type { LiveEvent, LiveProfile, LiveRefresh } from '../../../linux/sample/record/index.ts';
import type { TopState } from './keys.ts';
import type { TopSettings } from './settings.ts';

/** Facts that do not change. */
export interface TopHead {
  readonly events: readonly LiveEvent[];
  /** `all processes on 2 CPUs`. */
  readonly target: string;
  readonly cpus: number;
  readonly intervalMs: number;
}

/** A look, kept: nothing of it is borrowed. */
export interface TopLook {
  readonly number: number;
  readonly elapsedMs: number;
  readonly samples: number;
  readonly kernelSamples: number;
  readonly lost: number;
  readonly losses: readonly LossEntry[];
  readonly handlerNs: number | null;
  readonly readNs: number;
  readonly isNaming: boolean;
  readonly profile: Profile;
}

export interface TopTable {
  readonly answer: TopAnswer;
  /** Those that the filter lets through. */
  readonly rows: readonly TopRow[];
  /** How many there are, and not only those that were asked for. */
  readonly rowCount: number;
  readonly idlePercent: number;
}

export function headOf(live: LiveProfile, { live: options }: TopSettings): TopHead {
  const { cpus, events, kind, pid } = live;
  const { command = [], pids = [], tids = [], intervalMs = 0 } = options;
  const whom = {
    cpus: 'all processes',
    processes: counted('process', 'processes', pids),
    threads: counted('thread', 'threads', tids),
    command: `${command[0]} (process ${pid})`,
  }[kind];
  const all = kind === 'cpus' ? ` on ${cpus.length} CPU${cpus.length === 1 ? '' : 's'}` : '';
  const where = options.cpus === undefined ? all : ` on ${counted('CPU', 'CPUs', options.cpus)}`;
  return { events, target: whom + where, cpus: cpus.length, intervalMs };
}

function counted(one: string, many: string, ids: readonly number[]): string {
  const shown = ids.slice(0, 4).join(', ') + (ids.length > 4 ? `, and ${ids.length - 4} more` : '');
  return `${ids.length === 1 ? one : many} ${shown}`;
}

export function lookOf(refresh: LiveRefresh): TopLook {
  const { number, elapsedMs, samples, kernelSamples, lost, losses, handlerNs, readNs, isNaming } = refresh;
  const profile = copyOfSamples(refresh.profile);
  return { number, elapsedMs, samples, kernelSamples, lost, losses, handlerNs, readNs, isNaming, profile };
}

/** `most` rows at most: naming thousands takes longer than all else. A filter has to see all of them. */
export function tableOf(look: TopLook, state: TopState, { names }: TopSettings, most: number): TopTable {
  const { hideKernel, hideUser, showIdle, event, filter } = state;
  const part = partOfSamples(look.profile, { hideKernel, hideUser, hideIdle: !showIdle });
  const sort = state.sorts[state.sort]!;
  const answer = topFunctions(part.profile, {
    event,
    sort,
    ...names,
    ...(filter === '' && most !== Number.POSITIVE_INFINITY ? { most } : {}),
  });
  const wanted = filter.toLowerCase();
  const rows = filter === '' ? answer.rows : answer.rows.filter((row) => textOf(row).includes(wanted));
  return { answer, rows, rowCount: answer.rowCount ?? rows.length, idlePercent: part.idlePercent };
}

function textOf({ comm = '', dso = '', symbol = '', pid }: TopRow): string {
  return `${comm}\n${dso}\n${symbol}\n${pid ?? ''}`.toLowerCase();
}
