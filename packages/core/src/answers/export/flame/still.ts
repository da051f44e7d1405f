import { type BoxLayout, layOutBoxes, visitBoxes } from './boxes.ts';
import { cut, fitText, wrapWords } from './fit-text.ts';
import type { FlameFacts } from './flame-data.ts';
import type { FlameTree } from './flame-tree.ts';
import { BASELINE, boxPath, COLUMN, ROW, stripPath } from './geometry.ts';
import { FAMILIES, FAMILY_WORDS, fillClass, shadeClass, shadeLegend, toneOf } from './palette.ts';
import { boxDetail } from './places.ts';

export const STILL_WIDTH = 1200;
const MARGIN = 16;
const HEADER_HEIGHT = 86;
const HEADER_LINE = 17;
const FOOTER_HEIGHT = 44;
const INNER_WIDTH = STILL_WIDTH - 2 * MARGIN;

/** Rows of the still picture: deeper stacks are there for the page only. */
const MAX_ROWS = 200;

/** Average width of a letter of the header's proportional font, with a reserve. */
const LETTER = 6.7;

/** Lines that a long list of losses may take. */
const MAX_LOSS_LINES = 4;

export interface Still {
  height: number;
  /** SVG elements, without any script: what viewers show that run none. */
  svg: string;
}

/** The first view: everything, nothing zoomed. Boxes of one colour are one path. */
export function drawStill(tree: FlameTree, facts: FlameFacts): Still {
  const layout = layOutBoxes(tree);
  let deepest = 0;
  visitBoxes(layout, 0, MARGIN, INNER_WIDTH, (_row, _left, _right, depth) => {
    if (depth > deepest) deepest = depth;
  });
  const rows = Math.min(deepest + 1, MAX_ROWS);
  const lossLines = wrapWords(facts.loss, Math.floor(INNER_WIDTH / LETTER) - 3, MAX_LOSS_LINES);
  const top = HEADER_HEIGHT + lossLines.length * HEADER_LINE;
  const bottom = top + rows * ROW;
  const topOf = (depth: number) => top + (facts.orientation === 'icicle' ? depth : rows - 1 - depth) * ROW;
  const svg =
    `<rect class="page" width="100%" height="100%"/>${drawHeader(facts, lossLines)}` +
    `${drawBoxes(tree, layout, rows, facts, topOf)}${drawFooter(tree, facts, bottom)}`;
  return { height: bottom + FOOTER_HEIGHT, svg };
}

function drawHeader(facts: FlameFacts, lossLines: string[]): string {
  const line = (x: number, y: number, kind: string, text: string) =>
    text === '' ? '' : `<text class="${kind}" x="${x}" y="${y}">${xmlText(text)}</text>`;
  const columns = Math.floor(INNER_WIDTH / LETTER);
  return (
    line(MARGIN, 32, 'title', cut(facts.title, 100)) +
    line(MARGIN, 53, 'command', cut(facts.command, Math.floor(INNER_WIDTH / COLUMN))) +
    line(MARGIN, 71, 'facts', cut(facts.facts, columns)) +
    `<circle class="${facts.isComplete ? 'good' : 'bad'}" cx="${MARGIN + 4}" cy="85" r="4"/>` +
    lossLines.map((text, index) => line(MARGIN + 15, 89 + index * HEADER_LINE, 'facts', text)).join('')
  );
}

function drawBoxes(
  tree: FlameTree,
  layout: BoxLayout,
  rows: number,
  facts: FlameFacts,
  topOf: (depth: number) => number,
): string {
  const { hiddenWeight, label, labels, selfWeight, totalWeight } = tree;
  const scale = totalWeight > 0 ? INNER_WIDTH / totalWeight : 0;
  const paths = new Map<string, string>();
  const texts: string[] = [];
  let strips = '';
  visitBoxes(layout, 0, MARGIN, INNER_WIDTH, (row, left, right, depth) => {
    if (depth >= rows) return;
    const top = topOf(depth);
    const own = labels[label[row]!]!;
    const kind = tree.shade === null ? fillClass(own.family, toneOf(own.name)) : shadeClass(tree.shade[row]!);
    paths.set(kind, (paths.get(kind) ?? '') + boxPath(left, right, top));
    if (hiddenWeight[row]! > 0 && depth + 1 < rows) {
      const edge = right - selfWeight[row]! * scale;
      strips += stripPath(
        edge - hiddenWeight[row]! * scale,
        edge,
        topOf(depth + 1),
        facts.orientation === 'icicle',
      );
    }
    const text = fitText(own.name, boxDetail(own.place, own.tier), right - left, COLUMN);
    if (text === null) return;
    const detail = text.detail === '' ? '' : `<tspan class="dim"> ${xmlText(text.detail)}</tspan>`;
    texts.push(
      `<text x="${Math.round(left) + 4}" y="${top + BASELINE}">${xmlText(text.name)}${detail}</text>`,
    );
  });
  const boxes = [...paths]
    .sort(([a], [b]) => Number(a.slice(1)) - Number(b.slice(1)))
    .map(([kind, path]) => `<path class="${kind}" d="${path}"/>`);
  if (strips !== '') boxes.push(`<path class="narrow" d="${strips}"/>`);
  return `<g shape-rendering="crispEdges">${boxes.join('')}</g><g class="names">${texts.join('')}</g>`;
}

function drawFooter(tree: FlameTree, facts: FlameFacts, top: number): string {
  let x = MARGIN;
  let swatches = '';
  for (const { kind, words } of legendOf(tree)) {
    swatches +=
      `<rect class="${kind}" x="${x}" y="${top + 16}" width="12" height="12" rx="2"/>` +
      `<text class="legend" x="${x + 18}" y="${top + 26}">${words}</text>`;
    x += 18 + words.length * LETTER + 16;
  }
  if (facts.note === '') return swatches;
  const note = `<text class="legend" text-anchor="end" x="${STILL_WIDTH - MARGIN}" y="${top + 26}">`;
  return `${swatches}${note}${xmlText(facts.note)}</text>`;
}

function legendOf({ labels, shade }: FlameTree): readonly { kind: string; words: string }[] {
  if (shade !== null) return shadeLegend();
  return FAMILIES.flatMap((family, number) =>
    number === 0 || labels.some((label) => label.family === number)
      ? [{ kind: fillClass(number, 1), words: FAMILY_WORDS[family] }]
      : [],
  );
}

/** Text and attribute values. What XML 1.0 forbids has been made visible before. */
export function xmlText(text: string): string {
  return text.replace(/[&<>"]/g, (char) => XML_ESCAPES[char]!);
}

const XML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
