import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why programs cannot be run on a pseudo terminal here, or false. */
export function noPseudoTerminal(): string | false {
  const { error } = spawnSync('script', ['--version']);
  return error === undefined ? false : 'script (util-linux) is not installed';
}

/**
 * A program on a terminal of its own, by script(1). A shell runs it, and says how it ended and what the
 * terminal was like before and is afterwards.
 */
export class PseudoTerminal implements AsyncDisposable {
  /** All that came out so far. */
  text = '';
  readonly #child: ChildProcess;
  readonly #file: string;
  #wake: () => void = () => {};

  constructor(words: readonly string[]) {
    this.#file = join(
      tmpdir(),
      `counterpoint-terminal-${process.pid}-${Math.random().toString(36).slice(2)}`,
    );
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const lines = [
      // The shell outlives what ends its child, and the child gets the signals as they are by default.
      'trap : INT TERM HUP',
      'stty rows 24 cols 100',
      'echo "before $(stty -g)."',
      `sh -c 'echo "pid $$."; exec "$@"' sh ${quoted}`,
      'echo "status $?."',
      'echo "after $(stty -g)."',
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
    this.#child = spawn('script', ['-q', '-c', `sh ${this.#file}`, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1' },
    });
    this.#child.stdout!.setEncoding('utf8');
    this.#child.stdout!.on('data', (piece: string) => {
      this.text += piece;
      this.#wake();
    });
  }

  type(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** The process that the program is. */
  get pid(): number {
    return Number(/pid (\d+)\./.exec(this.text)?.[1]);
  }

  /**
   * Wait for some text that came after the first `from` characters. Throws with what there is after a minute.
   */
  async waitFor(pattern: RegExp, from = 0): Promise<void> {
    const end = Date.now() + 60_000;
    while (!pattern.test(this.text.slice(from))) {
      if (Date.now() > end)
        throw new Error(`${pattern} did not come: ${JSON.stringify(this.text.slice(from))}`);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, 1000);
      });
      clearTimeout(timer);
    }
  }

  /** How it ended, and whether the terminal has the settings again that it had. */
  async finish(): Promise<{ status: number; isRestored: boolean }> {
    await this.waitFor(/after \S+\./);
    const setting = (name: string) => new RegExp(`${name} (\\S+)\\.`).exec(this.text)?.[1];
    return { status: Number(setting('status')), isRestored: setting('before') === setting('after') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    }
    rmSync(this.#file, { force: true });
  }
}
