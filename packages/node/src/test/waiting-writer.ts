import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/**
 * A named pipe whose writer waits for a reader. Whoever opens the pipe for reading, if only for a moment,
 * lets the writer go on; it then finds no reader and is ended.
 */
export class WaitingWriter {
  readonly path: string;
  readonly #ended: Promise<unknown[]>;

  private constructor(path: string, ended: Promise<unknown[]>) {
    this.path = path;
    this.#ended = ended;
  }

  /** Makes the pipe. Resolves once the writer waits. */
  static async at(path: string): Promise<WaitingWriter> {
    assert.equal(spawnSync('mkfifo', [path]).status, 0);
    const child = spawn('sh', ['-c', 'exec 3>"$0" && echo kept >&3', path], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await once(child, 'spawn');
    while (!isAsleep(child.pid!)) await new Promise((go) => setTimeout(go, 5));
    return new WaitingWriter(path, ended);
  }

  /** Nobody has opened the pipe so far. The writer ends. */
  async assertUnopened(): Promise<void> {
    assert.equal(readFileSync(this.path, 'utf8'), 'kept\n', 'the pipe was opened');
    assert.deepEqual(await this.#ended, [0, null]);
  }
}

/** Whether it is a shell, and waits. */
function isAsleep(pid: number): boolean {
  return /^\d+ \((?:sh|dash|bash|busybox)\) S/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
