import { type ChildProcess, spawn } from 'node:child_process';

/**
 * It says when it hears signals, each that it gets, and every line that it is sent: what stands before the
 * line came before it. A shell that waits in `read` is woken by a signal, runs its trap, and reads on. Its
 * status is that of an end of input then, in dash.
 */
const SCRIPT = `
{ printf %s counterpoint >/proc/$$/comm; } 2>/dev/null
for signal in INT TERM HUP QUIT; do trap "got=1; echo SIG$signal" $signal; done
echo ready
while :; do
  got=
  if read -r line; then echo "$line"; elif [ -z "$got" ]; then exit 0; fi
done
`;
const READY = 'ready\n';
/** The kernel goes from one process of a group to the next. */
const SPREAD_MS = 10;
/** On a busy machine the answer takes its time; who waits for it has nothing else to do. */
const MOST_WAIT_MS = 2000;

/**
 * A process beside this one that says whether a signal came to the whole group (a terminal's Ctrl-C,
 * `timeout`, a service manager) or to this process alone (`kill`). The kernel would say so only to a handler
 * in C, and not of a signal that a process has sent. It ends with this one, whose end of its input it sees.
 */
export class GroupWitness implements Disposable {
  readonly #child: ChildProcess;
  #text = '';
  #asked = 0;
  #isGone = false;
  /** It hears what comes from now on. */
  #isReady = false;
  /** It comes before the traps are set. */
  #endedBy: NodeJS.Signals | null = null;
  #onText: () => void = () => {};

  constructor() {
    this.#child = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'pipe', 'ignore'] });
    const { stdin, stdout } = this.#child;
    const gone = () => {
      this.#isGone = true;
      this.#onText();
    };
    this.#child.on('error', gone).unref();
    this.#child.on('exit', (_, signal) => {
      this.#endedBy = signal;
      gone();
    });
    stdin!.on('error', gone);
    stdout!.setEncoding('utf8');
    stdout!.on('data', (piece: string) => {
      this.#text += piece;
      // Behind what this turn of the loop has yet to tell: libuv tells signals last, and one may have come
      // before the witness was born.
      if (this.#text.startsWith(READY)) setImmediate(() => (this.#isReady = true));
      this.#onText();
    });
    for (const stream of [stdin, stdout]) (stream as unknown as { unref: () => void }).unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Whether it got such a signal, too, since it was asked before; null: it does not answer, or may have been
   * born after the signal came.
   */
  async saw(signal: NodeJS.Signals): Promise<boolean | null> {
    const wasReady = this.#isReady;
    await new Promise((resolve) => setTimeout(resolve, SPREAD_MS));
    const mark = `asked ${this.#asked++}\n`;
    const answer = new Promise<boolean>((resolve) => {
      this.#onText = () => {
        if (this.#isGone || this.#text.includes(mark)) resolve(this.#text.includes(mark));
      };
    });
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, MOST_WAIT_MS, false);
    });
    if (!this.#isGone) this.#child.stdin!.write(mark);
    const hasAnswered = !this.#isGone && (await Promise.race([answer, tooLate]));
    clearTimeout(timer);
    if (!hasAnswered) return this.#endedBy === signal ? true : null;
    const end = this.#text.indexOf(mark);
    const lines = this.#text.slice(0, end).split('\n');
    this.#text = this.#text.slice(end + mark.length);
    return lines.includes(signal) || (wasReady ? false : null);
  }

  [Symbol.dispose](): void {
    this.#child.stdin!.destroy();
    this.#child.stdout!.destroy();
    if (!this.#isGone) this.#child.kill('SIGKILL');
  }
}
