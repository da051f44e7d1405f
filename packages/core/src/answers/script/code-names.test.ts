import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WalkedSample } from '../../profile/ingest/index.ts';
import { MODE_KERNEL, NONE, Profile } from '../../profile/tables/index.ts';
import { CodeNames, waitsForNames } from './code-names.ts';

const SAMPLE = {} as WalkedSample;

/** Names over a profile whose frames get their symbols by `resolve`. */
function names() {
  const profile = new Profile();
  const rows: number[] = [];
  const walker = {
    stackAt(_: WalkedSample, lo: number, hi: number) {
      const { frames, stacks } = profile;
      frames.addressLo.push(lo);
      frames.addressHi.push(hi);
      frames.binary.push(0);
      frames.mode.push(MODE_KERNEL);
      frames.symbolOffset.push(0);
      frames.jitCode.push(NONE);
      const frame = frames.symbol.push(NONE);
      rows.push(frame);
      stacks.frame.push(frame);
      return stacks.prefix.push(NONE);
    },
  };
  const resolve = (frame: number, name: string, offset: number) => {
    profile.symbols.binary.push(0);
    profile.frames.symbol.data[frame] = profile.symbols.name.push(profile.strings.intern(name));
    profile.frames.symbolOffset.data[frame] = offset;
  };
  return { codeNames: new CodeNames(profile, walker), resolve, rows };
}

const ADDRESS = 0xffff_ffff_8123_abcdn;

test('a name that comes later takes its place in the text; an address is looked up once', () => {
  const { codeNames, resolve, rows } = names();
  const text = ['offset', 'function'].map((form) => codeNames.textOf(SAMPLE, ADDRESS, form as 'offset'));
  assert.ok(text.every(waitsForNames));
  assert.deepEqual(rows, [0]);
  resolve(0, 'copy_process', 29);
  assert.equal(codeNames.named(`at ${text[0]} in ${text[1]}.`), 'at copy_process+0x1d in copy_process.');
  // Now it is known.
  assert.equal(codeNames.textOf(SAMPLE, ADDRESS, 'offset'), 'copy_process+0x1d');
  assert.deepEqual(rows, [0]);
});

test('what has no name, and what is no code of the kernel, is a number', () => {
  const { codeNames, rows } = names();
  assert.equal(codeNames.named(codeNames.textOf(SAMPLE, ADDRESS, 'function')), '0xffffffff8123abcd');
  assert.equal(codeNames.textOf(SAMPLE, 0n, 'function'), '0x0');
  assert.equal(codeNames.textOf(SAMPLE, 0x401000n, 'offset'), '0x401000');
  assert.deepEqual(rows, [0]);
  // A recording may hold anything.
  assert.equal(codeNames.named('\0S99999,ff\0 \0s\0'), '0xff \0s\0');
});
