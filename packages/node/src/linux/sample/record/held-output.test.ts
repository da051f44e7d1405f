import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldOutput } from './held-output.ts';
import { FINISHED_ROUND, type RecordingOutput } from './output.ts';

/** An output that takes a piece of a round when it is told to. */
class SlowOutput implements RecordingOutput {
  sizeBytes = 0;
  hasLateRecords = false;
  #wanted = 0;
  #take: (() => void) | null = null;

  async begin(): Promise<void> {}

  async writeRecords(bytes: Uint8Array): Promise<void> {
    this.sizeBytes += bytes.length;
  }

  async writeRound(spans: readonly Uint8Array[]): Promise<void> {
    this.#wanted = spans.reduce((sum, { length }) => sum + length, FINISHED_ROUND.length);
    while (this.#wanted > 0) await new Promise<void>((resolve) => (this.#take = resolve));
  }

  async takes(bytes: number): Promise<void> {
    this.#wanted -= bytes;
    this.sizeBytes += bytes;
    this.#take?.();
    await new Promise((done) => setImmediate(done));
  }

  async finish(): Promise<number> {
    return this.sizeBytes;
  }

  close(): void {}
}

test('where a round begins does not depend on how much of the one before is written', async () => {
  const slow = new SlowOutput();
  const held = new HeldOutput(slow, 1000);
  const round = (bytes: number) => held.writeRound([new Uint8Array(bytes)], bytes);
  await held.writeRecords(new Uint8Array(50));
  const mark = FINISHED_ROUND.length;
  round(100);
  await new Promise((done) => setImmediate(done));
  assert.equal(held.sizeBytes, 50 + 100 + mark);
  await slow.takes(60);
  assert.equal(held.sizeBytes, 50 + 100 + mark);
  round(200);
  assert.equal(held.sizeBytes, 50 + 100 + mark + 200 + mark);
  await slow.takes(40 + mark);
  assert.equal(held.sizeBytes, 50 + 100 + mark + 200 + mark);
  await slow.takes(200 + mark);
  assert.equal(held.sizeBytes, slow.sizeBytes);
  assert.equal(held.sizeBytes, 50 + 100 + mark + 200 + mark);
});
