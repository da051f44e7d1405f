import { percentText } from '../../numbers.ts';
import { htmlElement, svgElement } from './dom.ts';
import { type Model, pathTo } from './model.ts';
import type { View } from './picture.ts';

export interface ToolbarActions {
  search(query: string, isRegex: boolean): void;
  nextMatch(step: 1 | -1): void;
  zoom(row: number): void;
  orient(orientation: 'flame' | 'icicle'): void;
  leaveSearch(): void;
}

/** Breadcrumbs beyond this number lose their middle. */
const MAX_CRUMBS = 9;

/** Title, facts and loss; search, orientation and the way back; the path to the zoomed box. */
export class Toolbar {
  readonly element: SVGForeignObjectElement;
  readonly input = htmlElement('input', {
    type: 'text',
    spellcheck: 'false',
    autocomplete: 'off',
    'aria-label': 'Search functions, files and binaries',
    placeholder: 'Search functions, files, binaries',
  });
  readonly #body = htmlElement('div', { class: 'bar' });
  readonly #regex = htmlElement(
    'button',
    { type: 'button', class: 'icon', title: 'Regular expression' },
    '.*',
  );
  readonly #found = htmlElement('span', { class: 'found', 'aria-live': 'polite' });
  readonly #crumbs = htmlElement('nav', { class: 'crumbs', 'aria-label': 'Zoomed to' });
  readonly #flame = htmlElement('button', { type: 'button', title: 'Roots below (i)' }, 'Flame');
  readonly #icicle = htmlElement('button', { type: 'button', title: 'Roots above (i)' }, 'Icicle');
  readonly #reset = htmlElement('button', { type: 'button', title: 'Show everything (Esc)' }, 'Reset zoom');
  readonly #model: Model;
  readonly #actions: ToolbarActions;

  constructor(model: Model, actions: ToolbarActions) {
    this.#model = model;
    this.#actions = actions;
    const { facts } = model;
    const loss = htmlElement(
      'div',
      { class: 'line loss' },
      htmlElement('i', { class: facts.isComplete ? 'good' : 'bad' }),
      facts.loss,
    );
    const words = htmlElement(
      'div',
      { class: 'words' },
      htmlElement('div', { class: 'title', role: 'heading', 'aria-level': 1 }, facts.title),
      htmlElement('div', { class: 'command line', title: facts.command }, facts.command),
      htmlElement('div', { class: 'facts line' }, facts.facts),
      loss,
    );
    const searchBox = htmlElement('div', { class: 'search' }, this.input, this.#regex);
    const tools = htmlElement(
      'div',
      { class: 'tools' },
      this.#found,
      searchBox,
      htmlElement('div', { class: 'pair' }, this.#flame, this.#icicle),
      this.#reset,
    );
    this.#body.append(htmlElement('div', { class: 'head' }, words, tools), this.#crumbs);
    this.element = svgElement('foreignObject', { x: 0, y: 0, width: 100, height: 100 }, this.#body);
    this.#listen();
  }

  /** Takes the width of the window; returns the height it needs. */
  layOut(width: number): number {
    this.element.setAttribute('width', String(width));
    this.element.setAttribute('height', '2000');
    const height = Math.ceil(this.#body.getBoundingClientRect().height);
    this.element.setAttribute('height', String(height));
    return height;
  }

  get isRegex(): boolean {
    return this.#regex.getAttribute('aria-pressed') === 'true';
  }

  update(view: View, error: string): void {
    const model = this.#model;
    this.input.setAttribute('aria-invalid', String(error !== ''));
    this.#found.textContent = error !== '' ? error : view.result === null ? '' : this.#foundText(view);
    this.#flame.setAttribute('aria-pressed', String(view.orientation === 'flame'));
    this.#icicle.setAttribute('aria-pressed', String(view.orientation === 'icicle'));
    this.#reset.disabled = view.zoom === 0;
    this.#crumbs.replaceChildren();
    const path = pathTo(model, view.zoom);
    const shown =
      path.length <= MAX_CRUMBS ? path : [...path.slice(0, 3), -1, ...path.slice(-(MAX_CRUMBS - 4))];
    for (const [index, row] of shown.entries()) {
      if (index > 0) this.#crumbs.append(htmlElement('span', { class: 'step', 'aria-hidden': 'true' }, '›'));
      if (row < 0) {
        this.#crumbs.append(htmlElement('span', { class: 'step' }, '…'));
        continue;
      }
      const name = model.names[model.label[row]!]!;
      const crumb = htmlElement('button', { type: 'button', title: name }, name);
      if (row === view.zoom) crumb.setAttribute('aria-current', 'true');
      crumb.addEventListener('click', () => this.#actions.zoom(row));
      this.#crumbs.append(crumb);
    }
    if (view.zoom === 0) {
      this.#crumbs.append(htmlElement('span', { class: 'step' }, 'click a box to zoom'));
    } else {
      const share = percentText(model.total[view.zoom]!, model.total[0]!);
      this.#crumbs.append(htmlElement('span', { class: 'step' }, `${share} of all`));
    }
  }

  #foundText(view: View): string {
    const model = this.#model;
    const result = view.result!;
    if (result.rows.length === 0) return 'no match';
    const matched = `matched ${percentText(result.weight, model.total[0]!)}`;
    return result.rows.length === 1 ? matched : `${matched} in ${result.rows.length} places`;
  }

  #listen(): void {
    const { input } = this;
    const regex = this.#regex;
    const actions = this.#actions;
    const start = () => actions.search(input.value, this.isRegex);
    input.addEventListener('input', start);
    regex.addEventListener('click', () => {
      regex.setAttribute('aria-pressed', String(!this.isRegex));
      start();
      input.focus();
    });
    regex.setAttribute('aria-pressed', 'false');
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') actions.nextMatch(event.shiftKey ? -1 : 1);
      else if (event.key === 'Escape') actions.leaveSearch();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.#flame.addEventListener('click', () => actions.orient('flame'));
    this.#icicle.addEventListener('click', () => actions.orient('icicle'));
    this.#reset.addEventListener('click', () => actions.zoom(0));
  }
}
