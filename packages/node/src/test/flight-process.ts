import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { FlightDump, FlightOptions } from '../linux/sample/flight/index.ts';
import { sourceModule, sourceOptions } from './sources.ts';

const LOADER = ['--expose-gc', ...sourceOptions(), '--input-type=module'];
const MODULE = sourceModule('linux/sample/flight/index.ts');

export interface Memory {
  /** JavaScript's objects, and the buffers that they own. */
  heapBytes: number;
  externalBytes: number;
  rssBytes: number;
}

/** A flight recorder in a process of its own, which can be stopped and killed. */
export class FlightProcess implements Disposable {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(options: FlightOptions) {
    const script = `const { flight } = await import(${JSON.stringify(MODULE)});
const say = (one) => console.log(JSON.stringify(one, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
const recorder = await flight(${JSON.stringify(options)});
say('started');
const memory = async () => {
  gc();
  await new Promise((done) => setTimeout(done, 100));
  gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heapBytes: heapUsed, externalBytes: external, rssBytes: rss };
};
process.stdin.on('data', async (line) => say(String(line).startsWith('memory') ? await memory() : await recorder.dump('test')));`;
    this.child = spawn(process.execPath, [...LOADER, '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  /** Resolves when it watches. */
  static async start(options: FlightOptions): Promise<FlightProcess> {
    const one = new FlightProcess(options);
    assert.equal(await one.#says(), 'started');
    return one;
  }

  async #says(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    assert.ok(done !== true, 'the recorder has ended');
    return JSON.parse(value);
  }

  async dump(): Promise<Omit<FlightDump, 'atNs'>> {
    this.child.stdin!.write('dump\n');
    return (await this.#says()) as Omit<FlightDump, 'atNs'>;
  }

  /** What it has in use after a collection of garbage, and what the kernel says that it takes. */
  async memory(): Promise<Memory> {
    this.child.stdin!.write('memory\n');
    return (await this.#says()) as Memory;
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
  }
}
