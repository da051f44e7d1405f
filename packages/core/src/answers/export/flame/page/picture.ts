import { visitBoxes } from '../boxes.ts';
import { fitText } from '../fit-text.ts';
import { BASELINE, boxPath, COLUMN, FONT, ROW, stripPath } from '../geometry.ts';
import { FAMILIES, fillClass, SHADES, shadeClass, TONES, toneOf } from '../palette.ts';
import { svgElement } from './dom.ts';
import type { Model } from './model.ts';
import type { SearchResult } from './search.ts';

/** What is to be seen. */
export interface View {
  /** The box that fills the width. */
  zoom: number;
  orientation: 'flame' | 'icicle';
  /** Pixels by which the roots are scrolled out of sight. */
  scroll: number;
  hover: number;
  selected: number;
  result: SearchResult | null;
}

/** Where boxes may be. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

const ANCESTOR = 'outer';
const HIT = 'hit';
const NARROW = 'narrow';

/**
 * Draws the visible boxes: one path per colour and one text per box that has room,
 * all reused from draw to draw.
 */
export class Picture {
  readonly element = svgElement('g');
  readonly #model: Model;
  readonly #fills = svgElement('g', { 'shape-rendering': 'crispEdges' });
  readonly #paths = new Map<string, SVGPathElement>();
  readonly #names = svgElement('g', { class: 'names' });
  readonly #marks = svgElement('g', { class: 'marks' });
  readonly #tones: number[];
  #columnPx = COLUMN;
  #deepestOf: { zoom: number; width: number; deepest: number } = { zoom: -1, width: 0, deepest: 0 };

  constructor(model: Model) {
    this.#model = model;
    this.#tones = model.names.map(toneOf);
    const kinds = FAMILIES.flatMap((_, family) =>
      Array.from({ length: TONES }, (_unused, tone) => fillClass(family, tone)),
    );
    if (model.shade !== null) for (let shade = 0; shade <= 2 * SHADES; shade++) kinds.push(shadeClass(shade));
    for (const kind of [...kinds, ANCESTOR, HIT, NARROW]) {
      const path = svgElement('path', { class: kind });
      this.#paths.set(kind, path);
      this.#fills.append(path);
    }
    this.element.append(this.#fills, this.#names, this.#marks);
  }

  /** The real width of a column; needs the element to be in the document. */
  measure(): void {
    const probe = svgElement('text', {}, '0'.repeat(100));
    this.#names.append(probe);
    const width = probe.getComputedTextLength();
    probe.remove();
    if (width > FONT) this.#columnPx = width / 100;
  }

  /** Height of all rows that have a box wide enough to be seen. */
  contentHeight(view: View, area: Area): number {
    if (this.#deepestOf.zoom !== view.zoom || this.#deepestOf.width !== area.width) {
      let deepest = 0;
      visitBoxes(this.#model, view.zoom, area.left, area.width, (_row, _left, _right, depth) => {
        if (depth > deepest) deepest = depth;
      });
      this.#deepestOf = { zoom: view.zoom, width: area.width, deepest };
    }
    return (this.#deepestOf.deepest + 1) * ROW;
  }

  topOf(depth: number, view: View, area: Area): number {
    return view.orientation === 'icicle'
      ? area.top + depth * ROW - view.scroll
      : area.top + area.height - (depth + 1) * ROW + view.scroll;
  }

  draw(view: View, area: Area): void {
    const model = this.#model;
    const parts = new Map<string, string[]>();
    for (const kind of this.#paths.keys()) parts.set(kind, []);
    let texts = 0;
    const isIcicle = view.orientation === 'icicle';
    const zoomDepth = model.depth[view.zoom]!;
    const scale = area.width / Math.max(model.total[view.zoom]!, Number.MIN_VALUE);
    const firstTop = area.top - ROW;
    const lastTop = area.top + area.height;
    visitBoxes(model, view.zoom, area.left, area.width, (row, left, right, depth) => {
      const top = this.topOf(depth, view, area);
      if (top <= firstTop || top >= lastTop) return;
      const label = model.label[row]!;
      const isHit = view.result !== null && view.result.hit[row] === 1;
      const isOuter = depth < zoomDepth;
      const kind = isHit ? HIT : isOuter ? ANCESTOR : this.#kindOf(row, label);
      parts.get(kind)!.push(boxPath(left, right, top));
      if (model.hidden[row]! > 0 && !isOuter) {
        const edge = right - model.self[row]! * scale;
        const calleeTop = this.topOf(depth + 1, view, area);
        parts.get(NARROW)!.push(stripPath(edge - model.hidden[row]! * scale, edge, calleeTop, isIcicle));
      }
      const text = fitText(model.names[label]!, model.details[label]!, right - left, this.#columnPx);
      if (text === null) return;
      const isSoft = isOuter || (view.result !== null && !isHit);
      this.#setText(texts++, text.name, text.detail, Math.round(left) + 4, top + BASELINE, isSoft);
    });
    for (const [kind, path] of this.#paths) path.setAttribute('d', parts.get(kind)!.join(''));
    while (this.#names.childNodes.length > texts) this.#names.lastChild!.remove();
    this.#fills.setAttribute('class', view.result === null ? '' : 'faded');
    this.drawMarks(view, area);
  }

  #kindOf(row: number, label: number): string {
    const { families, shade } = this.#model;
    return shade === null ? fillClass(families[label]!, this.#tones[label]!) : shadeClass(shade[row]!);
  }

  /** Outlines of the box under the pointer and of the selected one. */
  drawMarks(view: View, area: Area): void {
    this.#marks.replaceChildren();
    for (const [row, kind] of [
      [view.selected, 'selected'],
      [view.hover, 'hover'],
    ] as const) {
      const box = row < 0 ? null : this.boxOf(row, view, area);
      if (box === null) continue;
      const { x, y, width } = box;
      this.#marks.append(
        svgElement('rect', { class: kind, x: x - 0.5, y: y - 0.5, width: Math.max(2, width), height: ROW }),
      );
    }
  }

  /** Place of a box, or null where it is not in the zoomed part. */
  boxOf(row: number, view: View, area: Area): { x: number; y: number; width: number } | null {
    const { start, total, depth, end } = this.#model;
    const y = this.topOf(depth[row]!, view, area);
    if (row <= view.zoom && end[row]! > view.zoom) return { x: area.left, y, width: area.width };
    if (row < view.zoom || row >= end[view.zoom]!) return null;
    const scale = area.width / total[view.zoom]!;
    const x = Math.round(area.left + (start[row]! - start[view.zoom]!) * scale);
    return { x, y, width: Math.round(total[row]! * scale) - 1 };
  }

  /** The box at a point, or -1. */
  rowAt(x: number, y: number, view: View, area: Area): number {
    if (y < area.top || y >= area.top + area.height || x < area.left || x >= area.left + area.width)
      return -1;
    const offset =
      view.orientation === 'icicle' ? y - area.top + view.scroll : area.top + area.height - y + view.scroll;
    const depth = Math.floor(offset / ROW);
    let found = -1;
    visitBoxes(this.#model, view.zoom, area.left, area.width, (row, left, right, level) => {
      if (level === depth && x >= left && x < Math.max(right, left + 1)) found = row;
    });
    return found;
  }

  #setText(index: number, name: string, detail: string, x: number, y: number, isSoft: boolean): void {
    let text = this.#names.childNodes[index] as SVGTextElement | undefined;
    if (text === undefined) {
      text = svgElement('text', {}, '', svgElement('tspan', { class: 'dim' }));
      text.prepend(document.createTextNode(''));
      this.#names.append(text);
    }
    text.setAttribute('x', String(x));
    text.setAttribute('y', String(y));
    text.setAttribute('class', isSoft ? 'soft' : '');
    text.firstChild!.nodeValue = name;
    text.lastChild!.textContent = detail === '' ? '' : ` ${detail}`;
  }
}
