import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Output } from './output.ts';
import { printError } from './output-error.ts';

function printed(error: unknown): string {
  let text = '';
  const write = (piece: string | Uint8Array) => {
    text += piece;
  };
  printError(error, new Output({ isTerminal: false, columns: () => 0, write }, {}));
  return text;
}

test('what went wrong is told, whatever goes wrong while things are closed behind it', async () => {
  const thrown = await (async () => {
    await using _outer = { [Symbol.asyncDispose]: () => Promise.reject(new Error('third')) };
    using _inner = {
      [Symbol.dispose]: () => {
        throw new Error('second');
      },
    };
    throw new Error('first');
  })().catch((error: unknown) => error);
  assert.match(printed(thrown), /^counterpoint: first\n/);
});
