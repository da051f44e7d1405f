/** `top` on a terminal: looks and keys change what is on the screen. */
import type { LiveEnd, LiveProfile } from '../../../linux/sample/record/index.ts';
import type { Output } from '../../common/output.ts';
import { parseKeys, pressKey, type TopState } from './keys.ts';
import { pageOf, screenLines } from './screen.ts';
import { KEEP_SHARE, type TopSettings } from './settings.ts';
import { Terminal } from './terminal.ts';
import { headOf, lookOf, type TopLook, type TopTable, tableOf } from './view.ts';

/** Until `q`, a signal, or where nobody can press a key the end of what is looked at. */
export async function showScreen(
  live: LiveProfile,
  settings: TopSettings,
  out: Output,
  signal: AbortSignal,
): Promise<LiveEnd | null> {
  const screen = new TopScreen(live, settings, out);
  signal.addEventListener('abort', () => screen.quit());
  using terminal = new Terminal(
    out,
    (text) => screen.press(text),
    () => screen.resize(),
  );
  screen.terminal = terminal;
  terminal.enter();
  screen.paint();
  let end: LiveEnd | null = null;
  for await (const refresh of live) {
    end = refresh.end;
    if (screen.isOver || end?.reason === 'stopped') break;
    screen.add(lookOf(refresh), end);
  }
  // The last table is there to be read.
  if (terminal.hasKeyboard && !screen.isOver && end !== null && end.reason !== 'stopped') await screen.over;
  return end;
}

class TopScreen {
  terminal: Terminal | null = null;
  isOver = false;
  /** Resolves with `q`, or a signal. */
  readonly over: Promise<void>;
  readonly #live: LiveProfile;
  readonly #settings: TopSettings;
  readonly #out: Output;
  #state: TopState;
  #look: TopLook | null = null;
  #table: TopTable | null = null;
  #message = '';
  #end: () => void = () => {};

  constructor(live: LiveProfile, settings: TopSettings, out: Output) {
    this.#live = live;
    this.#settings = settings;
    this.#out = out;
    this.#state = settings.state;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  add(look: TopLook, end: LiveEnd | null): void {
    if (end !== null) this.#message = `${endText(end)}; q ends this view`;
    if (!this.#state.isPaused || end !== null) {
      this.#look = look;
      this.#table = null;
    }
    this.paint();
  }

  press(text: string): void {
    for (const key of parseKeys(text)) {
      const shown = {
        events: this.#live.events.length,
        rows: this.#tableNow()?.rowCount ?? 0,
        page: this.#page(),
      };
      const { state, effect } = pressKey(this.#state, key, shown);
      if (state !== this.#state) this.#table = null;
      this.#state = state;
      if (effect === 'quit') this.quit();
      // As if the terminal had sent it, which it does where keys are not read one by one. It comes
      // with a later turn of the event loop, and ends this view then: one that had ended before
      // would not know by what.
      else if (effect === 'interrupt') process.kill(process.pid, 'SIGINT');
      else if (effect === 'suspend') this.terminal?.suspend(() => this.paint());
    }
    this.#live.keepShare = this.#state.isZero ? 0 : KEEP_SHARE;
    this.paint();
  }

  /** The window has another size. */
  resize(): void {
    this.#table = null;
    this.paint();
  }

  paint(): void {
    const { terminal } = this;
    if (terminal === null || this.isOver) return;
    const content = {
      head: headOf(this.#live, this.#settings),
      look: this.#look,
      table: this.#tableNow(),
      message: this.#messageNow(),
    };
    terminal.show(screenLines(content, this.#state, terminal.size, this.#out.style));
  }

  /** The screen stays as it is until it is given back. */
  quit(): void {
    this.isOver = true;
    this.#live.stop();
    this.#end();
  }

  #messageNow(): string {
    if (this.#message !== '') return this.#message;
    if (this.#look?.isNaming === true) return 'looking for names…';
    return this.#live.notes.map(({ text }) => text).join('; ');
  }

  #page(): number {
    return this.terminal === null ? 1 : pageOf(this.terminal.size, this.#state);
  }

  #tableNow(): TopTable | null {
    if (this.#table === null && this.#look !== null)
      this.#table = tableOf(this.#look, this.#state, this.#settings, this.#state.first + this.#page());
    return this.#table;
  }
}

function endText({ reason, exit }: LiveEnd): string {
  if (reason !== 'command-exited') return 'the target has ended';
  return `the command has ended (${exit?.signal ?? `status ${exit?.code ?? 0}`})`;
}
