import { TIER_WORDS } from '../../../../code/jit/script-names.ts';
import { countText, percentText, weightText } from '../../numbers.ts';
import type { FlameFacts, RecordingTotals } from '../flame-data.ts';
import { FAMILIES, FAMILY_WORDS } from '../palette.ts';
import { htmlElement, svgElement } from './dom.ts';
import type { Model } from './model.ts';

/** A function's code may be of several tiers. */
function tierWords(tier: string): string {
  const words = Array.from(tier, (mark) => TIER_WORDS[mark] ?? '').filter((word) => word !== '');
  return words.length === 0 ? 'compiled' : words.join(', ');
}

const WIDTH = 460;
const GAP = 14;

/** What is known of a box, beside the pointer. */
export class Tooltip {
  readonly element: SVGForeignObjectElement;
  readonly #body = htmlElement('div', { class: 'tip', role: 'status' });
  readonly #model: Model;
  #row = -1;

  constructor(model: Model) {
    this.#model = model;
    this.element = svgElement('foreignObject', { class: 'tipbox', width: WIDTH, height: 10 }, this.#body);
    this.hide();
  }

  hide(): void {
    this.#row = -1;
    this.element.setAttribute('display', 'none');
  }

  /** Beside the point, inside the window. */
  show(row: number, x: number, y: number, windowWidth: number, windowHeight: number): void {
    if (row !== this.#row) {
      this.#row = row;
      this.#body.replaceChildren(...this.#contents(row));
      this.element.removeAttribute('display');
    }
    const width = Math.min(WIDTH, windowWidth - 16);
    this.element.setAttribute('width', String(width));
    this.element.setAttribute('height', String(windowHeight));
    const used = { width: this.#body.offsetWidth, height: this.#body.offsetHeight };
    this.element.setAttribute('height', String(used.height + 2));
    const left = x + GAP + used.width > windowWidth ? x - GAP - used.width : x + GAP;
    const top = y + GAP + used.height > windowHeight ? y - GAP - used.height : y + GAP;
    this.element.setAttribute('x', String(Math.max(8, Math.min(left, windowWidth - used.width - 8))));
    this.element.setAttribute('y', String(Math.max(8, top)));
  }

  #contents(row: number): HTMLElement[] {
    const model = this.#model;
    const { facts } = model;
    const label = model.label[row]!;
    const parent = model.parent[row]!;
    const total = model.total[row]!;
    const lines = [htmlElement('div', { class: 'tipname' }, model.names[label]!)];
    for (const text of [model.places[label]!, model.binaries[label]!]) {
      if (text !== '') lines.push(htmlElement('div', { class: 'tippath' }, text));
    }
    const tier = model.tiers[label]!;
    if (row > 0) {
      const family = FAMILY_WORDS[FAMILIES[model.families[label]!]!];
      const words = tier === '' ? family : `${family}, ${tierWords(tier)} (${tier})`;
      lines.push(htmlElement('div', { class: 'tipkind' }, words));
    }
    const table = htmlElement('div', { class: 'tiptable' });
    const add = (name: string, value: string, share: string) =>
      table.append(
        htmlElement('span', {}, name),
        htmlElement('b', {}, value),
        htmlElement('span', { class: 'share' }, share),
      );
    if (facts.compared !== undefined) {
      lines.push(table);
      this.#addChange(row, facts.compared, add);
      return lines;
    }
    const whole = model.total[0]!;
    if (facts.unit !== 'samples') {
      add(facts.unit === 'nanoseconds' ? 'time' : 'events', weightText(total, facts.unit), '');
    }
    add('samples', countText(model.samples[row]!), '');
    add('of all', percentText(total, whole), '');
    if (parent > 0)
      add('of caller', percentText(total, model.total[parent]!), model.names[model.label[parent]!]!);
    if (row > 0)
      add('itself', percentText(model.self[row]!, whole), weightText(model.self[row]!, facts.unit));
    if (model.hidden[row]! > 0) {
      add('narrow callees', percentText(model.hidden[row]!, whole), 'not drawn');
    }
    lines.push(table);
    return lines;
  }

  /** Of two recordings: what the box has in each, and how its share changed. */
  #addChange(
    row: number,
    { before, after }: NonNullable<FlameFacts['compared']>,
    add: (name: string, value: string, share: string) => void,
  ): void {
    const { total, samples, facts } = this.#model;
    const laterWhole = samples[0]!;
    const earlierWhole = total[0]! - laterWhole;
    const later = laterWhole > 0 ? samples[row]! / laterWhole : 0;
    const earlier = earlierWhole > 0 ? (total[row]! - samples[row]!) / earlierWhole : 0;
    const amount = (share: number, { weight }: RecordingTotals) => weightText(share * weight, facts.unit);
    add('before', percentText(earlier, 1), amount(earlier, before));
    add('after', percentText(later, 1), amount(later, after));
    const points = 100 * (later - earlier);
    add('change', `${points < 0 ? '' : '+'}${points.toFixed(2)}`, 'percentage points');
  }
}
