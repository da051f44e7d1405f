import { CounterpointError } from '../../base/index.ts';

/** What the text is called. */
export type Syntax = 'event' | 'filter';

const label = (syntax: Syntax) => `${syntax} syntax error: `;
/** The next step where the place alone says what is wrong. */
const GRAMMAR: Readonly<Record<Syntax, string>> = {
  event: 'counterpoint help events explains the grammar.',
  filter: "A filter is FIELD OPERATOR VALUE, joined by && and ||: prev_pid > 1 && prev_comm == 'node'",
};
/** A longer text is cut, so that the place stays on the screen. */
const LONGEST_SHOWN = 100;
/** How much of a long text is shown before the place. */
const SHOWN_BEFORE = 13;

/**
 * An event that cannot be read or does not exist, shown as perf shows it:
 *
 *   event syntax error: 'cycels:u'
 *                        \___ unknown event; did you mean cycles?
 */
export class EventSyntaxError extends CounterpointError {
  /** What `instanceof` tells it by, also across two copies of this package. */
  static override readonly brand: string = '@counterpoint/core:EventSyntaxError';

  /** The whole text that was given. */
  readonly text: string;
  /** Where in the text, in characters from 0. */
  readonly column: number;
  /** What is wrong there, without the picture: `unknown event; did you mean cycles?`. */
  readonly reason: string;

  constructor(text: string, column: number, reason: string, remedy?: string, syntax: Syntax = 'event') {
    super('ERR_EVENT_SYNTAX', pointAt(text, column, reason, label(syntax)), remedy || GRAMMAR[syntax]);
    this.name = 'EventSyntaxError';
    this.text = text;
    this.column = column;
    this.reason = reason;
  }
}

function pointAt(text: string, column: number, reason: string, label: string): string {
  const cut = text.length > LONGEST_SHOWN ? Math.max(0, column - SHOWN_BEFORE) : 0;
  let shown = text.slice(cut, cut + LONGEST_SHOWN);
  if (cut > 0) shown = `..${shown.slice(2)}`;
  if (cut + LONGEST_SHOWN < text.length) shown = `${shown.slice(0, -2)}..`;
  // A line break or a control character would move the place away.
  shown = shown.replace(/[\x00-\x1f\x7f]/g, ' ');
  return `${label}'${shown}'\n${' '.repeat(label.length + 1 + column - cut)}\\___ ${reason}`;
}
