import { checkArgument, hasMembers } from '../../base/index.ts';
import { rowLabel } from './row-label.ts';
import type { TopAnswer, TopRow } from './top-functions.ts';

/** What a row counts of one event of its group. */
export type GroupCounts = Pick<TopRow, 'percent' | 'selfPercent' | 'samples' | 'selfPeriod' | 'totalPeriod'>;

/** One row of `EventGroupAnswer`: the fields of sort keys as in `TopRow`, and what each event counted. */
export interface GroupRow extends Omit<TopRow, keyof GroupCounts> {
  /** In the order of the answer's `events`; 0 for events that have no samples in the row. */
  events: GroupCounts[];
}

/** An event of a group. */
export type GroupedEvent = Pick<TopAnswer, 'event' | 'unit' | 'samples' | 'sumPeriod' | 'lost'>;

/** What `reportProfile()` says of several events together. */
export interface EventGroupAnswer
  extends Pick<TopAnswer, 'version' | 'sort' | 'children' | 'loss' | 'damage'> {
  /** Tells this answer from others. */
  type: 'event-group';
  /** The events, the leader of the group first. */
  events: GroupedEvent[];
  /** The rows: the largest of the first event first, among equal ones of the second event, and so on. */
  rows: GroupRow[];
}

const NOTHING: GroupCounts = {
  percent: 0,
  selfPercent: 0,
  samples: 0,
  selfPeriod: '0',
  totalPeriod: '0',
};

/**
 * Answers of `topFunctions()` about several events as one table, as `perf report --group` has it: a row is
 * there if one of the events has it. All must have been asked for with the same sort keys.
 */
export function groupEvents(answers: readonly [TopAnswer, ...TopAnswer[]]): EventGroupAnswer {
  const isRight = hasMembers(answers?.[0], { rows: 'object', sort: 'object' });
  checkArgument(isRight, 'groupEvents()', 'the answers', answers, 'a list of answers of topFunctions()');
  const [{ version, sort, children, loss, damage }] = answers;
  const rows = new Map<string, GroupRow>();
  answers.forEach((answer, at) => {
    for (const row of answer.rows) {
      const { percent, selfPercent, samples, selfPeriod, totalPeriod, ...labels } = row;
      const label = JSON.stringify(sort.map((key) => rowLabel(row, key)));
      let found = rows.get(label);
      if (found === undefined) rows.set(label, (found = { ...labels, events: answers.map(() => NOTHING) }));
      found.events[at] = { percent, selfPercent, samples, selfPeriod, totalPeriod };
    }
  });
  return {
    type: 'event-group',
    version,
    events: answers.map(({ event, unit, samples, sumPeriod, lost }) => ({
      event,
      unit,
      samples,
      sumPeriod,
      lost,
    })),
    sort,
    children,
    rows: [...rows]
      .sort(([a, left], [b, right]) => compareRows(left, right) || (a < b ? -1 : 1))
      .map(([, row]) => row),
    loss,
    damage,
  };
}

function compareRows(left: GroupRow, right: GroupRow): number {
  for (const part of ['percent', 'selfPercent'] as const)
    for (let at = 0; at < left.events.length; at++) {
      const order = right.events[at]![part] - left.events[at]![part];
      if (order !== 0) return order;
    }
  return 0;
}
