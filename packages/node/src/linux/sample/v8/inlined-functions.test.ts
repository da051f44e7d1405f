/** Functions that V8 inlines, by what programs are known to do, on each version of Node that is here. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openElf, readSymbols } from '@counterpoint/core/elf';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import {
  DEEP_ONCE,
  leastShare,
  PHASE_CHAINS,
  PHASES_ONCE,
  phaseShares,
} from '../../../test/javascript-phases.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { newestNode, nodePrograms } from '../../../test/node-versions.ts';
import { record } from '../record/index.ts';
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

test('what the newest Node inlines is told apart', {
  skip: newestNode === null && 'npm run nodes',
}, async () => {
  const script = join(folder, 'deep.js');
  const output = join(folder, 'deep.data');
  writeFileSync(script, DEEP_ONCE);
  await onTime(async () => {
    await record({
      command: [newestNode!, script],
      events: 'cpu-clock:u',
      frequency: 1000,
      callGraph: true,
      nodeNames: true,
      output,
    });
    await using recording = await openRecording(output);
    const { profile } = await recording.profile();
    const stacks = Array.from({ length: profile.samples.length }, (_, row) =>
      javascriptStack(profile, profile.samples.stack.at(row)),
    );
    const { count, share } = phaseShares(stacks).get('deep') ?? { count: 0, share: 0 };
    assertOnTime(count > 100 && share > leastShare('deep'), `${share} of ${count} samples`);
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

const SHT_DYNSYM = 11;
/** Of `Elf64_Sym`, and where its value is. */
const SYMBOL_BYTES = 24;
const SYMBOL_VALUE = 8;

/** The Node that runs this, whose symbols give the number of its build for V8's minor version. */
async function copyWithOtherVersion(path: string): Promise<void> {
  const bytes = readFileSync(process.execPath);
  const { length: size } = bytes;
  const elf = await openElf({ size, read: async (at, length) => bytes.subarray(at, at + length) });
  const symbols = await readSymbols(elf, 'dynsym');
  const numberAt = (name: string) => {
    for (let row = 0; row < symbols!.count; row++)
      if (symbols!.name(row) === `_ZN2v88internal7Version6${name}_E`) return BigInt(symbols!.value(row));
    assert.fail(`no ${name}`);
  };
  const [minor, build] = [numberAt('minor'), numberAt('build')];
  const table = elf.sections.find(({ type }) => type === SHT_DYNSYM)!;
  for (let at = table.offset; at < table.offset + table.size; at += SYMBOL_BYTES)
    if (bytes.readBigUInt64LE(at + SYMBOL_VALUE) === minor) bytes.writeBigUInt64LE(build, at + SYMBOL_VALUE);
  writeFileSync(path, bytes, { mode: 0o700 });
}

test('a version of V8 that was never tested is told of once, however many processes have it', async () => {
  const node = join(folder, 'other-node');
  await copyWithOtherVersion(node);
  // Its program is read while it runs.
  const busy = 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);';
  const program = `${node} -e '${busy}'`;
  await onTime(async () => {
    const { notes } = await record({
      command: ['sh', '-c', `${program}; ${program}`],
      events: 'cpu-clock:u',
      nodeNames: true,
      output: join(folder, 'other.data'),
    });
    const texts = notes.filter(({ kind }) => kind === 'inlined-code').map(({ text }) => text);
    const told = texts.filter((text) => text.includes('may not tell inlined functions apart'));
    assertOnTime(told.length === 1 && texts.length === 1, texts.join('\n'));
    assert.match(told[0]!, /is version \d+\.\d{2,}, and Counterpoint was tested with 11\.3, /);
  });
});
