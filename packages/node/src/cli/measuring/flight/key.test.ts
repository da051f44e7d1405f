/** `--on key`, on a terminal. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { commandLineProcess } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { noPseudoTerminal, PseudoTerminal } from '../../../test/pseudo-terminal.ts';
import { waiting } from '../../../test/until-told.ts';

const skip = process.getuid?.() === 0 ? noPseudoTerminal() : 'processes of others need root';

test('each Enter is a file, however soon; Ctrl-C ends it, and the terminal is as before', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const target = waiting();
  t.after(target.end);
  const words = ['flight', '--on', 'key', '-p', `${target.pid}`, '-o', folder];
  await using terminal = new PseudoTerminal([process.execPath, ...commandLineProcess(), ...words]);
  await terminal.waitFor(/watching/);
  for (const times of [1, 2]) {
    terminal.type('\n');
    await terminal.waitFor(new RegExp(`(key: wrote[^]*){${times}}`));
  }
  terminal.type('\x03');
  const { status, isRestored } = await terminal.finish();
  assert.deepEqual([status, isRestored], [130, true], terminal.text);
  assert.match(terminal.text, /stopped: 2 files/);
  assert.equal(readdirSync(folder).length, 2);
});
