import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Node that runs `script` after a line on its standard input, says when it is done, and ends at the next. */
export class WaitingNode implements Disposable {
  readonly child: ChildProcess;

  constructor(script: string, { env = {}, cpu }: { env?: Record<string, string>; cpu?: number } = {}) {
    const text = `process.stdin.once('data', () => { ${script}; console.log('done'); process.stdin.once('data', () => process.exit()); });`;
    const command = [process.execPath, '-e', text];
    const [program, ...words] = cpu === undefined ? command : ['taskset', '-c', `${cpu}`, ...command];
    this.child = spawn(program!, words, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Resolves when the script has run. */
  async run(): Promise<void> {
    const done = once(this.child.stdout!, 'data');
    this.child.stdin!.write('go\n');
    await done;
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
  }
}
