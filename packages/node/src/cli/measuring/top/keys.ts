/** What the keys of `top` do: a pure function from a state and a key to the next state. */
import type { SortKey } from '@counterpoint/core/query';

export interface TopState {
  /** What `s` goes through. */
  readonly sorts: readonly (readonly SortKey[])[];
  readonly sort: number;
  /** Only rows with this text in them. */
  readonly filter: string;
  /** While a filter is typed: what is there so far. */
  readonly prompt: string | null;
  /** Index of the event that is shown. */
  readonly event: number;
  readonly isZero: boolean;
  readonly isPaused: boolean;
  readonly isHelp: boolean;
  readonly hideKernel: boolean;
  readonly hideUser: boolean;
  readonly showIdle: boolean;
  readonly showSamples: boolean;
  /** At most this many rows; null: as many as fit. */
  readonly lines: number | null;
  /** Row at the top. */
  readonly first: number;
}

export type TopEffect = 'none' | 'repaint' | 'quit' | 'interrupt' | 'suspend';

export interface KeyOutcome {
  readonly state: TopState;
  readonly effect: TopEffect;
}

/** What is on the screen, as far as keys depend on it. */
export interface ShownFacts {
  readonly events: number;
  /** Rows that there are, and rows that fit. */
  readonly rows: number;
  readonly page: number;
}

const SORTS: readonly (readonly SortKey[])[] = [
  ['dso', 'symbol'],
  ['comm', 'dso', 'symbol'],
  ['symbol'],
  ['dso'],
  ['comm'],
  ['pid', 'comm'],
];

export function startState(
  given: { sort: readonly SortKey[] } & Partial<Omit<TopState, 'sorts' | 'sort'>>,
): TopState {
  const { sort, ...rest } = given;
  const isSame = (keys: readonly SortKey[]) => keys.join() === sort.join();
  return {
    sorts: [sort, ...SORTS.filter((keys) => !isSame(keys))],
    sort: 0,
    filter: '',
    prompt: null,
    event: 0,
    isZero: false,
    isPaused: false,
    isHelp: false,
    hideKernel: false,
    hideUser: false,
    showIdle: false,
    showSamples: false,
    lines: null,
    first: 0,
    ...rest,
  };
}

/** Keys and what they are for, as help shows them. */
export const KEY_HELP: readonly (readonly [string, string])[] = [
  ['q, Ctrl-C, Ctrl-D', 'end'],
  ['s', 'change what makes a row: dso and symbol, comm, ...'],
  ['/', 'only rows that contain a text; empty: all rows'],
  ['z', 'begin each table anew, or let samples fade'],
  ['p, space', 'pause and go on'],
  ['+ -', 'more rows, fewer rows; 0: as many as fit'],
  ['up, down, page up, page down, home', 'other rows'],
  ['K U', 'leave out the kernel; leave out user space'],
  ['i', 'show functions in which a CPU waits for work, too'],
  ['n', 'the number of samples'],
  ['e', 'the next event'],
  ['h, ?', 'this help'],
];

/** A key by its name (`parseKeys`). */
export function pressKey(state: TopState, key: string, shown: ShownFacts): KeyOutcome {
  if (key === 'ctrl-c') return { state, effect: 'interrupt' };
  if (key === 'ctrl-d') return { state, effect: 'quit' };
  if (key === 'ctrl-z') return { state, effect: 'suspend' };
  if (key === 'ctrl-l') return { state, effect: 'repaint' };
  if (state.prompt !== null) return to(typeInto(state, state.prompt, key));
  if (state.isHelp) return key === 'q' ? { state, effect: 'quit' } : to({ ...state, isHelp: false });
  if (key === 'q') return { state, effect: 'quit' };
  return to(command(state, key, shown));
}

function to(state: TopState): KeyOutcome {
  return { state, effect: 'none' };
}

function typeInto(state: TopState, prompt: string, key: string): TopState {
  if (key === 'enter') return { ...state, filter: prompt, prompt: null, first: 0 };
  if (key === 'escape') return { ...state, prompt: null };
  if (key === 'backspace') return { ...state, prompt: [...prompt].slice(0, -1).join('') };
  if (key === 'ctrl-u') return { ...state, prompt: '' };
  return [...key].length === 1 ? { ...state, prompt: prompt + key } : state;
}

function command(state: TopState, key: string, shown: ShownFacts): TopState {
  const { rows, page } = shown;
  const last = Math.max(0, rows - page);
  const scroll = (by: number): TopState => ({
    ...state,
    first: Math.max(0, Math.min(last, state.first + by)),
  });
  switch (key) {
    case 's':
      return { ...state, sort: (state.sort + 1) % state.sorts.length, first: 0 };
    case '/':
      return { ...state, prompt: state.filter };
    case 'escape':
      return { ...state, filter: '', first: 0 };
    case 'z':
      return { ...state, isZero: !state.isZero };
    case 'p':
    case ' ':
      return { ...state, isPaused: !state.isPaused };
    case '+':
    case '=':
      return { ...state, lines: state.lines === null ? null : state.lines + 1 };
    case '-':
      return { ...state, lines: Math.max(1, Math.min(state.lines ?? page, page) - 1) };
    case '0':
      return { ...state, lines: null };
    case 'K':
      return { ...state, hideKernel: !state.hideKernel, hideUser: false, first: 0 };
    case 'U':
      return { ...state, hideUser: !state.hideUser, hideKernel: false, first: 0 };
    case 'i':
      return { ...state, showIdle: !state.showIdle };
    case 'n':
      return { ...state, showSamples: !state.showSamples };
    case 'e':
      return { ...state, event: (state.event + 1) % Math.max(1, shown.events), first: 0 };
    case 'h':
    case '?':
      return { ...state, isHelp: true };
    case 'up':
      return scroll(-1);
    case 'down':
      return scroll(1);
    case 'page-up':
      return scroll(-page);
    case 'page-down':
      return scroll(page);
    case 'home':
      return { ...state, first: 0 };
    case 'end':
      return { ...state, first: last };
    default:
      return state;
  }
}

/** What terminals send for keys without a letter (ECMA-48, xterm's "PC-style function keys"). */
const SEQUENCES: Readonly<Record<string, string>> = {
  '\x1b[A': 'up',
  '\x1bOA': 'up',
  '\x1b[B': 'down',
  '\x1bOB': 'down',
  '\x1b[5~': 'page-up',
  '\x1b[6~': 'page-down',
  '\x1b[H': 'home',
  '\x1bOH': 'home',
  '\x1b[1~': 'home',
  '\x1b[F': 'end',
  '\x1bOF': 'end',
  '\x1b[4~': 'end',
  '\x03': 'ctrl-c',
  '\x04': 'ctrl-d',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x1a': 'ctrl-z',
  '\r': 'enter',
  '\n': 'enter',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x1b': 'escape',
};

/** A sequence as a whole, or one character. */
const KEY = /\x1b\[[\d;]*[ -/]*[@-~]|\x1bO.|[\s\S]/gu;

/**
 * The names of the keys in what a terminal sent; letters stand for themselves, other sequences are left out.
 */
export function parseKeys(text: string): string[] {
  const keys = text.match(KEY) ?? [];
  return keys.flatMap((key) => SEQUENCES[key] ?? (key >= ' ' && key.charCodeAt(0) !== 0x7f ? [key] : []));
}
