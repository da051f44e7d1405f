import { type Damage, optional } from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import {
  type CategoryShare,
  categoryShares,
  foldedFiles,
  type IsFolded,
  type JavascriptTime,
  OF_NODE,
  type UnusedFold,
  viewJavascript,
} from '../../profile/javascript/index.ts';
import { checkProfile, NONE, type Profile } from '../../profile/tables/index.ts';
import { type CallTreeAnswer, callTree } from '../query/call-tree.ts';
import { type EventGroupAnswer, groupEvents } from '../query/event-groups.ts';
import { type HierarchyAnswer, rowHierarchy } from '../query/row-hierarchy.ts';
import { isTraceKey, type SortKey } from '../query/sort-keys.ts';
import { limitStacks } from '../query/stack-limit.ts';
import { type TopAnswer, type TopOptions, topFunctions } from '../query/top-functions.ts';
import { isKeyOfEvent } from '../script/trace-keys.ts';
import { needsCallers, type ReportOptions, viewOfReport } from './report-options.ts';
import { chosenRows, largestRows } from './report-rows.ts';
import { shownEvents, togetherShown } from './shown-events.ts';

/** What is said of one event; of programs in JavaScript with what they did, by category. */
export type OneEventAnswer = (TopAnswer | CallTreeAnswer | HierarchyAnswer) & {
  javascript?: CategoryShare[];
};

/** The answer of `reportProfile()`. */
export interface ReportAnswer {
  /** Tells this answer from others. */
  type: 'report';
  /** Version of the form of this answer. */
  version: 1;
  /** One for each event, or for each group of events. */
  events: (OneEventAnswer | EventGroupAnswer)[];
  /**
   * How programs in JavaScript are shown; null: as recorded, because that was asked for or there are none.
   */
  javascript: ShownJavascript | null;
  /** What was lost while recording. */
  loss: LossEntry[];
  /** What of the recording could not be read. */
  damage: Damage[];
}

/** How programs in JavaScript are shown. */
export interface ShownJavascript {
  /** Functions of Node itself count for those of the program that called them. */
  isNodeFolded: boolean;
  /** Engines without a single name: what they did is not known any closer. */
  namelessBinaries: string[];
  /** Names in `fold` of which nothing was recorded. */
  unusedFolds: UnusedFold[];
}

interface Shown {
  time: JavascriptTime;
  isFolded: IsFolded;
  shown: ShownJavascript;
}

/**
 * Which functions cost most, or the call tree, for each event: what `counterpoint report` prints. Stacks of
 * programs in JavaScript become those that are shown, and stay so in the profile.
 */
export function reportProfile(profile: Profile, options: ReportOptions = {}): ReportAnswer {
  checkProfile('reportProfile()', profile);
  const asked = withParent(options);
  const cut = cutStacks(profile, asked);
  const javascript = showJavascript(cut, asked);
  const events = shownEvents(cut, asked.event);
  const { groups } = asked;
  return {
    type: 'report',
    version: 1,
    events:
      groups === undefined
        ? events.map((event) => withShares(eventAnswer(cut, event, asked, javascript), javascript, event))
        : togetherShown(groups, events).map((group) => groupAnswer(cut, group, asked)),
    javascript: javascript?.shown ?? null,
    loss: cut.loss,
    damage: cut.damage,
  };
}

/** Rows that parents are chosen for are told apart by them. */
function withParent(options: ReportOptions): ReportOptions {
  const { parent, sort } = options;
  if (parent === undefined || sort?.includes('parent') === true) return options;
  return { ...options, sort: [...(sort ?? (['comm', 'dso', 'symbol'] as const)), 'parent'] };
}

/** In trees it is their depth. Without callers in the rows there is nothing to cut. */
function cutStacks(profile: Profile, options: ReportOptions): Profile {
  const { maxStack, tree, children } = options;
  if (maxStack === undefined || tree !== undefined || !needsCallers(options)) return profile;
  return limitStacks(profile, maxStack, endOf(children));
}

function endOf(children: boolean | undefined): 'outermost' | 'innermost' {
  return children === true ? 'outermost' : 'innermost';
}

/** Changes the profile's stacks to what is to be shown; null where they stay. */
function showJavascript(profile: Profile, options: ReportOptions): Shown | null {
  const view = viewOfReport(options);
  if (view === null) return null;
  // Functions without their callers would not be charged to anybody.
  if (view === 'fitting' && !profile.stacks.prefix.view().some((prefix) => prefix !== NONE)) return null;
  const { fold = [] } = options;
  const byDefault = fold === null || view === 'categories' ? [] : [OF_NODE];
  const { isFolded, unused } = foldedFiles([profile], fold ?? [], byDefault);
  const time = viewJavascript(profile, view === 'fitting' ? 'charge' : view, isFolded);
  if (time === null) return null;
  const { namelessBinaries } = time;
  return {
    time,
    isFolded,
    shown: { isNodeFolded: isFolded('node:fs'), namelessBinaries, unusedFolds: unused },
  };
}

function withShares<Answer extends TopAnswer | CallTreeAnswer | HierarchyAnswer>(
  answer: Answer,
  javascript: Shown | null,
  event: number,
): Answer & { javascript?: CategoryShare[] } {
  const shares = javascript === null ? [] : categoryShares(javascript.time, event);
  return shares.length === 0 ? answer : { ...answer, javascript: shares };
}

function eventAnswer(
  profile: Profile,
  event: number,
  options: ReportOptions,
  javascript: Shown | null,
): TopAnswer | CallTreeAnswer | HierarchyAnswer {
  const { tree, minimumPercent, limit = Number.POSITIVE_INFINITY } = options;
  if (tree !== undefined) {
    const { dsos, symbols, maxStack: maxDepth } = options;
    const answer = callTree(profile, {
      event,
      direction: tree,
      ...optional({ dsos, symbols, minimumPercent, maxDepth }),
    });
    return { ...answer, roots: answer.roots.slice(0, limit) };
  }
  const answer = rowsOf(
    profile,
    event,
    options,
    javascript === null ? {} : javascriptRows(profile, javascript),
  );
  if (options.hierarchy === true) {
    const hierarchy = rowHierarchy(answer);
    return { ...hierarchy, rows: largestRows(hierarchy.rows, minimumPercent ?? 0, limit) };
  }
  const rows = answer.rows.filter((row) => row.percent >= (minimumPercent ?? 0)).slice(0, limit);
  return { ...answer, rows };
}

/** One table of several events: shares and filters are each event's own, the least share is of the first. */
function groupAnswer(profile: Profile, group: readonly number[], options: ReportOptions): EventGroupAnswer {
  const [first, ...others] = group.map((event) => rowsOf(profile, event, options));
  const answer = groupEvents([first!, ...others]);
  const rows = answer.rows
    .filter(({ events }) => events[0]!.percent >= (options.minimumPercent ?? 0))
    .slice(0, options.limit);
  return { ...answer, rows };
}

/** The rows that pass the filters of rows, each with the share that is asked for. */
function rowsOf(
  profile: Profile,
  event: number,
  options: ReportOptions,
  more: Partial<TopOptions> = {},
): TopAnswer {
  const { sort, children, hierarchy, dsos, symbols, shortPaths = false, parent } = options;
  const answer = topFunctions(profile, {
    event,
    children: children === true && hierarchy !== true,
    shortPaths,
    ...more,
    parentEnd: endOf(children),
    ...optional({
      dsos,
      symbols,
      parent,
      sort: sort === undefined ? undefined : sortOfEvent(sort, profile.events[event]!.name),
    }),
  });
  return { ...answer, rows: chosenRows(answer, options) };
}

/**
 * The function that costs most comes first: above it would be those that start the program. Of
 * one process, neither its name nor where its code lies tells anything.
 */
function javascriptRows(
  { threads }: Profile,
  { time, isFolded }: Shown,
): Pick<TopOptions, 'sort' | 'javascriptFirst' | 'isFolded'> {
  const { pids } = time;
  const isAlone = pids.length === 1 && threads.pid.view().every((pid) => pid === pids[0]);
  return { javascriptFirst: true, isFolded, sort: isAlone ? ['symbol'] : ['comm', 'symbol'] };
}

/** Fields of other events are no columns of this one, as in perf. */
function sortOfEvent(sort: readonly SortKey[], eventName: string): readonly SortKey[] {
  const own = sort.filter((key) => !isTraceKey(key) || isKeyOfEvent(key, eventName));
  return own.length > 0 ? own : sort;
}
