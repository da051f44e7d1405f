import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

interface Answer {
  return?: unknown;
  error?: { class: string; desc: string };
}

/** QEMU's monitor: one JSON object a line, answers in the order of the commands, events between them. */
export class QmpConnection {
  readonly #input: Writable;
  readonly #waiting: ((answer: Answer) => void)[] = [];
  #isGreeted: Promise<unknown> | null = null;

  constructor(output: Readable, input: Writable) {
    this.#input = input;
    input.on('error', () => {});
    const lines = createInterface({ input: output });
    lines.on('line', (line) => {
      const message = JSON.parse(line) as Answer & { event?: string; QMP?: unknown };
      if (message.event === undefined && message.QMP === undefined) this.#waiting.shift()?.(message);
    });
    lines.on('close', () => {
      for (const resolve of this.#waiting.splice(0))
        resolve({ error: { class: 'Gone', desc: 'QEMU has ended' } });
    });
  }

  async execute(command: string, words: Record<string, unknown> = {}): Promise<unknown> {
    this.#isGreeted ??= this.#send('qmp_capabilities', {});
    await this.#isGreeted;
    return this.#send(command, words);
  }

  async #send(command: string, words: Record<string, unknown>): Promise<unknown> {
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.push(resolve);
      this.#input.write(`${JSON.stringify({ execute: command, arguments: words })}\n`);
    });
    if (answer.error !== undefined) throw new Error(`QEMU refuses ${command}: ${answer.error.desc}`);
    return answer.return;
  }
}
