/** Functions that V8 inlines, by what programs are known to do, on each version of Node that is here. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertOnTime, onTime } from '../../../core/src/test/on-time.ts';
import { openRecording } from '../open/index.ts';
import { record } from '../record/index.ts';
import { leastShare, PHASE_CHAINS, PHASES_ONCE, phaseShares } from '../test/javascript-phases.ts';
import { javascriptStack } from '../test/javascript-stack.ts';
import { nodePrograms } from '../test/node-versions.ts';
import { v8LayoutOf } from './v8-layout.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-inlined-'));
after(() => rmSync(folder, { recursive: true }));

for (const node of nodePrograms)
  test(`time is the function's whose code runs, inlined or not, and it has its callers: ${node}`, async () => {
    const script = join(folder, 'phases.js');
    const output = join(folder, 'phases.data');
    writeFileSync(script, PHASES_ONCE);
    await onTime(async () => {
      const { notes } = await record({
        command: [node, script],
        events: 'cpu-clock:u',
        frequency: 1000,
        callGraph: true,
        nodeNames: true,
        output,
      });
      assert.deepEqual(
        notes.filter(({ kind }) => kind === 'inlined-code'),
        [],
      );
      await using recording = await openRecording(output);
      const { profile, diagnostics } = await recording.profile();
      assert.deepEqual(
        diagnostics.filter(({ code }) => code === 'inlined-code-damaged'),
        [],
      );
      const stacks = Array.from({ length: profile.samples.length }, (_, row) =>
        javascriptStack(profile, profile.samples.stack.at(row)),
      );
      const shares = phaseShares(stacks);
      for (const phase of Object.keys(PHASE_CHAINS)) {
        const { count, share } = shares.get(phase) ?? { count: 0, share: 0 };
        assertOnTime(count > 100, `${phase}: ${count} samples`);
        assertOnTime(
          share > leastShare(phase),
          `${phase}: ${share} of ${count} samples are of ${PHASE_CHAINS[phase]!.join(' ')}`,
        );
      }
    });
  });

test('what a process inlines is known where it was forked long before its program began', async () => {
  const script = join(folder, 'late.js');
  const output = join(folder, 'late.data');
  const shell = join(folder, 'node');
  copyFileSync('/bin/sh', shell);
  writeFileSync(script, PHASES_ONCE);
  const { notes } = await record({
    // The second shell is taken for Node at once, as the fork of a Node is that begins another one.
    command: [shell, '-c', `(sleep 0.5; exec ${process.execPath} ${script}); exit`],
    events: 'cpu-clock:u',
    frequency: 1000,
    callGraph: true,
    nodeNames: true,
    output,
  });
  assert.deepEqual(
    notes.filter(({ kind }) => kind === 'inlined-code'),
    [],
  );
  await using recording = await openRecording(output);
  const { sources } = (await recording.profile()).profile;
  assert.ok(sources.length > 20, `${sources.length} places in sources`);
});

test('a program without V8 is no gap, and every Node here has a layout', async () => {
  assert.equal(await v8LayoutOf('/bin/true'), 'no-v8');
  for (const node of nodePrograms) assert.equal(typeof (await v8LayoutOf(node)), 'object', node);
});
