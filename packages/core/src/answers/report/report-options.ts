import type { EventGroup } from '../../file-formats/perfdata/index.ts';
import type { JavascriptView } from '../../profile/javascript/index.ts';
import type { FrameFilter } from '../query/frame-filter.ts';
import { isTraceKey, type SortKey, type TraceSortKey } from '../query/sort-keys.ts';

/** What is asked of a profile: rows of each event or its call tree, and which of them. */
export interface ReportOptions extends FrameFilter {
  /** Only this event, by its name. Default: each that has samples. */
  event?: string;
  /** What rows are told apart by. Default as of `topFunctions()`. */
  sort?: readonly SortKey[];
  /** A call tree in place of rows: from the roots down (`callees`), or from functions up to their callers. */
  tree?: 'callees' | 'callers';
  /** Count the time of callees for their callers, too, and sort by that. Not with `hierarchy`. */
  children?: boolean;
  /** A level of rows for each sort key, with own time. */
  hierarchy?: boolean;
  /** Events of these groups in one table; with an empty list all events. Not with `hierarchy` or `tree`. */
  groups?: readonly EventGroup[];
  /** Look at so many frames of each stack only; of a tree: its depth. */
  maxStack?: number;
  /** Functions that count as parents; rows are told apart by them, too. */
  parent?: RegExp;
  /** Only rows of samples whose stack has such a function. */
  onlyWithParent?: boolean;
  /** Only rows of functions whose name has this in it. */
  symbolPart?: string;
  /** Shares of the rows that pass, in place of shares of everything. */
  relative?: boolean;
  /** Leave out rows or nodes below this share, in percent. */
  minimumPercent?: number;
  /** At most this many rows, or roots of the tree. */
  limit?: number;
  /** Of source files only the last part of the path. */
  shortPaths?: boolean;
  /**
   * How programs in JavaScript are shown. `fitting`: by their functions (`charge`), where call chains of them
   * are there. null: as recorded. Default: `fitting` for rows of functions or lines and for trees; null where
   * binaries, parents or other rows are asked for.
   */
  javascript?: JavascriptView | 'fitting' | null;
  /**
   * Functions of these places count for those of JavaScript that called them: `node`, `node_modules`, a
   * package, a folder; with those of Node itself, unless `javascript` is `categories`. null: none.
   */
  fold?: readonly string[] | null;
}

/** What a profile has to be made with, to answer these questions: options of `ingestPerfData()`. */
export interface ReportNeeds {
  /** The innermost function of a sample is enough. */
  innermostOnly: boolean;
  /** CPUs have to be kept. */
  keepCpu: boolean;
  /** Lines of source code have to be looked up. */
  lines: boolean;
  /** What of tracepoints has to be kept as text. */
  traceKeys: TraceSortKey[];
}

/** To be asked before the profile is made: less is quicker. */
export function reportNeeds(options: ReportOptions): ReportNeeds {
  const { tree, sort, javascript } = options;
  return {
    innermostOnly:
      tree === undefined && !needsCallers(options) && javascript !== 'charge' && javascript !== 'categories',
    keepCpu: sort?.includes('cpu') === true,
    lines: sort?.some((key) => key === 'srcline' || key === 'srcfile') === true,
    traceKeys: sort?.filter(isTraceKey) ?? [],
  };
}

/** Rows depend on the callers of a function. */
export function needsCallers({ children, hierarchy, parent, sort }: ReportOptions): boolean {
  const isCumulated = children === true && hierarchy !== true;
  return isCumulated || parent !== undefined || sort?.includes('parent') === true;
}

/** Who asks for binaries, or for other rows, asks for what was recorded. */
export function viewOfReport(options: ReportOptions): JavascriptView | 'fitting' | null {
  const { javascript, sort, dsos, parent, maxStack, hierarchy, groups } = options;
  if (javascript !== undefined) return javascript;
  const isOfRecorded =
    hierarchy === true || [dsos, parent, maxStack, groups].some((one) => one !== undefined);
  return isOfRecorded || (sort !== undefined && !isOfLines(sort)) ? null : 'fitting';
}

/** A JavaScript author looks at functions and lines, and has no use for other keys. */
function isOfLines(sort: readonly SortKey[]): boolean {
  const last = sort.at(-1);
  return (
    (last === 'srcline' || last === 'srcfile') &&
    (sort.length === 1 || (sort.length === 2 && sort[0] === 'symbol'))
  );
}
