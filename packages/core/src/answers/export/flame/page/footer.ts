import { FAMILIES, FAMILY_WORDS, fillClass, shadeLegend } from '../palette.ts';
import { htmlElement, svgElement } from './dom.ts';
import type { Model } from './model.ts';

/** The colours, what was left out, and the keys. */
export class Footer {
  readonly element: SVGForeignObjectElement;
  readonly #body = htmlElement('div', { class: 'foot' });

  constructor(model: Model) {
    const legend = htmlElement('div', { class: 'legend' });
    for (const { kind, words } of legendOf(model)) {
      const swatch = svgElement('svg', { width: 12, height: 12, 'aria-hidden': 'true' });
      swatch.append(svgElement('rect', { class: kind, width: 12, height: 12, rx: 2 }));
      legend.append(htmlElement('span', {}, swatch, words));
    }
    const keys = htmlElement('div', { class: 'keys' });
    for (const [key, meaning] of [
      ['/', 'search'],
      ['Enter', 'next match, zoom'],
      ['Esc', 'back'],
      ['← ↑ ↓ →', 'move'],
    ] as const) {
      keys.append(htmlElement('span', {}, htmlElement('kbd', {}, key), meaning));
    }
    this.#body.append(legend, htmlElement('div', { class: 'note' }, model.facts.note), keys);
    this.element = svgElement('foreignObject', { x: 0, width: 100, height: 10 }, this.#body);
  }

  /** Takes the bottom of the window; returns the height it needs. */
  layOut(width: number, windowHeight: number): number {
    this.element.setAttribute('width', String(width));
    this.element.setAttribute('height', String(windowHeight));
    const height = Math.ceil(this.#body.getBoundingClientRect().height);
    this.element.setAttribute('height', String(height));
    this.element.setAttribute('y', String(windowHeight - height));
    return height;
  }
}

function legendOf({ shade, families }: Model): readonly { kind: string; words: string }[] {
  if (shade !== null) return shadeLegend();
  return FAMILIES.flatMap((family, number) =>
    number === 0 || families.includes(number)
      ? [{ kind: fillClass(number, 1), words: FAMILY_WORDS[family] }]
      : [],
  );
}
