/**
 * The flame graph's page: takes over from the still picture when the file is opened by itself. Bundled into
 * `generated/page-script.ts` by `scripts/gen-flame-page.ts`; never imported by the library.
 */
import type { FlameData } from '../flame-data.ts';
import { ROW } from '../geometry.ts';
import { svgElement } from './dom.ts';
import { Footer } from './footer.ts';
import { readModel } from './model.ts';
import { type Area, Picture, type View } from './picture.ts';
import { search } from './search.ts';
import { Toolbar } from './toolbar.ts';
import { Tooltip } from './tooltip.ts';

const MARGIN = 16;
const SCROLLBAR = 6;
const LINE_PX = 40;

function start(root: SVGSVGElement): void {
  const source = root.querySelector('#flame-data');
  const still = root.querySelector('#still');
  if (source === null || still === null) return;
  const model = readModel(JSON.parse(source.textContent ?? '') as FlameData);
  const view: View = {
    zoom: 0,
    orientation: model.facts.orientation,
    scroll: 0,
    hover: -1,
    selected: -1,
    result: null,
  };
  let area: Area = { left: MARGIN, top: 0, width: 100, height: 100 };
  let pointer: { x: number; y: number } | null = null;
  let matchAt = -1;
  let searchError = '';

  const picture = new Picture(model);
  const tooltip = new Tooltip(model);
  const footer = new Footer(model);
  const thumb = svgElement('rect', { class: 'thumb', width: SCROLLBAR, rx: SCROLLBAR / 2 });
  const toolbar = new Toolbar(model, {
    search: (query, isRegex) => {
      try {
        view.result = search(model, query, isRegex);
        searchError = '';
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        view.result = null;
        searchError = 'not a regular expression';
      }
      matchAt = -1;
      update();
    },
    nextMatch,
    zoom,
    orient,
    leaveSearch: () => {
      if (toolbar.input.value === '') toolbar.input.blur();
      else clearSearch();
    },
  });
  still.remove();
  root.append(picture.element, thumb, toolbar.element, footer.element, tooltip.element);
  root.removeAttribute('viewBox');
  root.setAttribute('width', '100%');
  root.setAttribute('height', '100%');
  root.setAttribute('class', 'live');
  picture.measure();

  function layOut(): void {
    const width = Math.max(320, window.innerWidth);
    const height = Math.max(240, window.innerHeight);
    const top = toolbar.layOut(width);
    const bottom = footer.layOut(width, height);
    area = { left: MARGIN, top, width: width - 2 * MARGIN, height: Math.max(ROW, height - top - bottom) };
  }

  function maxScroll(): number {
    return Math.max(0, picture.contentHeight(view, area) - area.height);
  }

  /** Everything that depends on the view. */
  function update(): void {
    toolbar.update(view, searchError);
    layOut();
    redraw();
  }

  function redraw(): void {
    view.scroll = Math.min(Math.max(0, view.scroll), maxScroll());
    picture.draw(view, area);
    const most = maxScroll();
    thumb.setAttribute('display', most > 0 ? 'inline' : 'none');
    if (most > 0) {
      const length = Math.max(24, (area.height * area.height) / (area.height + most));
      const way = (area.height - length) * (view.scroll / most);
      thumb.setAttribute('x', String(area.left + area.width + (MARGIN - SCROLLBAR) / 2));
      thumb.setAttribute('height', String(length));
      thumb.setAttribute(
        'y',
        String(view.orientation === 'icicle' ? area.top + way : area.top + area.height - length - way),
      );
    }
    if (pointer !== null) point(pointer.x, pointer.y);
  }

  function zoom(row: number): void {
    view.zoom = row;
    view.hover = -1;
    tooltip.hide();
    update();
  }

  function orient(orientation: 'flame' | 'icicle'): void {
    view.orientation = orientation;
    view.scroll = 0;
    tooltip.hide();
    update();
  }

  function clearSearch(): void {
    toolbar.input.value = '';
    view.result = null;
    searchError = '';
    update();
  }

  function nextMatch(step: 1 | -1): void {
    const rows = view.result?.rows ?? [];
    if (rows.length === 0) return;
    matchAt = matchAt < 0 && step < 0 ? rows.length - 1 : (matchAt + step + rows.length) % rows.length;
    select(rows[matchAt]!);
  }

  /** Selects a box, brings it into sight and says what it is. */
  function select(row: number): void {
    view.selected = row;
    const inZoom = row >= view.zoom && row < model.end[view.zoom]!;
    const isCaller = row < view.zoom && model.end[row]! > view.zoom;
    if (!inZoom && !isCaller) zoom(0);
    const offset = model.depth[row]! * ROW;
    if (offset < view.scroll) view.scroll = offset;
    if (offset + ROW > view.scroll + area.height) view.scroll = offset + ROW - area.height;
    pointer = null;
    view.hover = -1;
    redraw();
    const box = picture.boxOf(row, view, area);
    if (box !== null) {
      tooltip.show(
        row,
        box.x + Math.min(box.width / 2, 80),
        box.y + ROW / 2,
        window.innerWidth,
        window.innerHeight,
      );
    }
  }

  function point(x: number, y: number): void {
    const row = picture.rowAt(x, y, view, area);
    if (row !== view.hover) {
      view.hover = row;
      picture.drawMarks(view, area);
    }
    if (row < 0) tooltip.hide();
    else tooltip.show(row, x, y, window.innerWidth, window.innerHeight);
  }

  /**
   * The nearest box in a direction: callees and callers up and down, neighbours of
   * the same depth left and right.
   */
  function neighbour(key: string): number {
    const { depth, parent, end, count } = model;
    const row = view.selected < 0 ? view.zoom : view.selected;
    const toCallee = view.orientation === 'flame' ? 'ArrowUp' : 'ArrowDown';
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const step = key === 'ArrowLeft' ? -1 : 1;
      for (let at = step < 0 ? row - 1 : end[row]!; at >= 0 && at < count; at += step) {
        if (depth[at] === depth[row]) return at;
      }
      return row;
    }
    if (key !== toCallee) return Math.max(0, parent[row]!);
    return row + 1 < end[row]! ? row + 1 : row;
  }

  function onKey(event: KeyboardEvent): void {
    const inInput = event.target === toolbar.input;
    const isFind = event.key === '/' || ((event.ctrlKey || event.metaKey) && event.key === 'f');
    if (isFind && !inInput) {
      event.preventDefault();
      toolbar.input.focus();
      toolbar.input.select();
      return;
    }
    if (inInput || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = area.height - ROW;
    const towardsRoots = view.orientation === 'flame' ? 1 : -1;
    if (event.key.startsWith('Arrow')) select(neighbour(event.key));
    else if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement) && view.selected >= 0)
      zoom(view.selected);
    else if (event.key === 'Escape') goBack();
    else if (event.key === 'i') orient(view.orientation === 'flame' ? 'icicle' : 'flame');
    else if (event.key === 'PageDown') scrollBy(towardsRoots * -page);
    else if (event.key === 'PageUp') scrollBy(towardsRoots * page);
    else if (event.key === 'Home') scrollBy(Number.NEGATIVE_INFINITY);
    else if (event.key === 'End') scrollBy(Number.POSITIVE_INFINITY);
    else return;
    event.preventDefault();
  }

  /** One step: the search, then the selection, then the zoom. */
  function goBack(): void {
    if (toolbar.input.value !== '') clearSearch();
    else if (view.selected >= 0) {
      view.selected = -1;
      tooltip.hide();
      redraw();
    } else if (view.zoom > 0) zoom(0);
  }

  function scrollBy(pixels: number): void {
    view.scroll = Math.min(Math.max(0, view.scroll + pixels), maxScroll());
    redraw();
  }

  root.addEventListener('pointermove', (event) => {
    if (event.buttons !== 0 && grip !== null) {
      const most = maxScroll();
      const way = ((event.clientY - grip.y) / area.height) * (area.height + most);
      view.scroll = grip.scroll + (view.orientation === 'icicle' ? way : -way);
      redraw();
      return;
    }
    const overBoxes = picture.element.contains(event.target as Node) || event.target === root;
    pointer = overBoxes ? { x: event.clientX, y: event.clientY } : null;
    if (pointer !== null) point(pointer.x, pointer.y);
    else leave();
  });
  let grip: { y: number; scroll: number } | null = null;
  thumb.addEventListener('pointerdown', (event) => {
    grip = { y: event.clientY, scroll: view.scroll };
    thumb.setPointerCapture(event.pointerId);
  });
  thumb.addEventListener('pointerup', () => {
    grip = null;
  });
  function leave(): void {
    pointer = null;
    if (view.hover < 0) return;
    view.hover = -1;
    picture.drawMarks(view, area);
    tooltip.hide();
  }
  root.addEventListener('pointerleave', leave);
  root.addEventListener('click', (event) => {
    if (toolbar.element.contains(event.target as Node) || footer.element.contains(event.target as Node))
      return;
    const row = picture.rowAt(event.clientX, event.clientY, view, area);
    if (row < 0) return;
    view.selected = -1;
    zoom(row);
  });
  root.addEventListener(
    'wheel',
    (event) => {
      if (event.ctrlKey || maxScroll() === 0) return;
      const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? LINE_PX : area.height;
      scrollBy(event.deltaY * unit * (view.orientation === 'icicle' ? 1 : -1));
      event.preventDefault();
    },
    { passive: false },
  );
  document.addEventListener('keydown', onKey);
  window.addEventListener('resize', update);
  update();
}

// Inside another page the still picture stays: its document is not ours to fill.
if (document.documentElement instanceof SVGSVGElement) start(document.documentElement);
