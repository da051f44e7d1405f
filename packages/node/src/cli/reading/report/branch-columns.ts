import type {
  BranchBlock,
  BranchEdge,
  BranchFunction,
  BranchLoop,
  BranchPlace,
  BranchRows,
  BranchView,
  MispredictedBranch,
} from '@counterpoint/core/query';
import { percentText } from '../../common/human.ts';
import type { Column } from '../../common/row-table.ts';

/** What is not known. */
const NOTHING = '-';

type Cell<Row> = Column<Row>['cell'];

const right = <Row>(title: string, cell: Cell<Row>): Column<Row> => ({ title, isRight: true, cell });
const left = <Row>(title: string, cell: Cell<Row>): Column<Row> => ({ title, isRight: false, cell });

const share = right<{ percent: number }>('Overhead', ({ percent }) => percentText(percent));
const count = (title: string) => right<{ count: number }>(title, (row) => String(row.count));
const cycles = (title: string) =>
  right<{ cycles: number | null }>(title, (row) => (row.cycles === null ? NOTHING : row.cycles.toFixed(1)));

const functionText = ({ mode, symbol }: BranchFunction): string => `[${mode}] ${symbol}`;

/** `[.] main+0x12`, and of code without a symbol its address. */
function placeText({ mode, symbol, offset }: BranchPlace): string {
  return `[${mode}] ${symbol}${offset === null ? '' : `+0x${offset.toString(16)}`}`;
}

const lineText = ({ srcline }: BranchPlace): string => srcline ?? NOTHING;

/** `main.c:12`, `main.c:12-17`; of two files both. */
function linesText({ first, last }: { first: BranchPlace; last: BranchPlace }): string {
  if (first.srcline === null || last.srcline === null || first.srcline === last.srcline)
    return first.srcline ?? last.srcline ?? NOTHING;
  const [firstFile, firstLine] = parts(first.srcline);
  const [lastFile, lastLine] = parts(last.srcline);
  if (firstFile !== lastFile) return `${first.srcline}-${last.srcline}`;
  // Compilers move tests of loops to their ends.
  const [from, to] = [Number(firstLine), Number(lastLine)].sort((a, b) => a - b);
  return `${firstFile}:${from}-${to}`;
}

function parts(srcline: string): [file: string, line: string] {
  const colon = srcline.lastIndexOf(':');
  return [srcline.slice(0, colon), srcline.slice(colon + 1)];
}

/** `main+0x12..+0x40` */
function rangeText({ first, last }: { first: BranchPlace; last: BranchPlace }): string {
  const end =
    last.offset === null || last.symbol !== first.symbol
      ? placeText(last).slice(4)
      : `+0x${last.offset.toString(16)}`;
  return `${placeText(first)}..${end}`;
}

function edgeColumns(hasPrediction: boolean): Column<BranchEdge<BranchFunction>>[] {
  const wrong = right<BranchEdge<BranchFunction>>('Mispredicted', (row) =>
    row.mispredicted === null ? NOTHING : percentText((100 * row.mispredicted) / row.count),
  );
  return [share, count('Branches'), ...(hasPrediction ? [wrong] : []), cycles('Cycles')];
}

/** The columns of each kind of rows. */
export const COLUMNS_OF_VIEW: {
  [View in BranchView]: (hasPrediction: boolean) => Column<BranchRows[View]>[];
} = {
  functions: (hasPrediction) => [
    ...edgeColumns(hasPrediction),
    left('Source Shared Object', ({ from }) => from.dso),
    left('Source Symbol', ({ from }) => functionText(from)),
    left('Target Symbol', ({ to }) => functionText(to)),
    left('Target Shared Object', ({ to }) => to.dso),
  ],
  edges: (hasPrediction) => [
    ...(edgeColumns(hasPrediction) as Column<BranchEdge>[]),
    left('Source Shared Object', ({ from }) => from.dso),
    left('From', ({ from }) => placeText(from)),
    left('To', ({ to }) => placeText(to)),
    left('From Line', ({ from }) => lineText(from)),
    left('To Line', ({ to }) => lineText(to)),
  ],
  mispredicts: () => [
    share,
    right<MispredictedBranch>('Mispredicted', (row) => String(row.mispredicted)),
    count('Branches'),
    right<MispredictedBranch>('Rate', ({ rate }) => percentText(rate)),
    left('Shared Object', ({ place }) => place.dso),
    left('Branch', ({ place }) => placeText(place)),
    left('Source:Line', ({ place }) => lineText(place)),
  ],
  loops: () => [
    share,
    right<BranchLoop>('Iterations', ({ iterations }) => String(iterations)),
    right<BranchLoop>('Entries', ({ entries }) => String(entries)),
    right<BranchLoop>('Trips', ({ trips }) => (trips === null ? NOTHING : trips.toFixed(1))),
    cycles('Cycles/Iteration'),
    left<BranchLoop>('Shared Object', ({ first }) => first.dso),
    left<BranchLoop>('Source:Lines', linesText),
    left<BranchLoop>('Loop', (row) => `${'  '.repeat(row.depth)}${rangeText(row)}`),
  ],
  blocks: () => [
    right<BranchBlock>('Sampled Cycles%', ({ percent }) => percentText(percent)),
    right<BranchBlock>('Sampled Cycles', ({ totalCycles }) =>
      totalCycles === null ? NOTHING : String(totalCycles),
    ),
    cycles('Avg Cycles'),
    count('Executions'),
    left<BranchBlock>('Shared Object', ({ first }) => first.dso),
    left<BranchBlock>('Source:Lines', linesText),
    left<BranchBlock>('Block', rangeText),
  ],
};
