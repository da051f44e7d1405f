/** perf's options of `script`, against perf's text of the same recording. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const skip = perfIsMissing();

describe('script, as perf prints it', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const data = join(folder, 'perf.data');
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    const parts = ['--intr-regs=ax,ip,r11', '--user-regs=ip,sp', '--code-page-size', '-g'];
    const command = ['sh', '-c', 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; ls / > /dev/null'];
    perf('record', '-q', '-e', 'cpu-clock:u', ...parts, '-o', data, '--', ...command);
  });

  const PLAIN = ['-G', '-F', 'comm,tid,time,event,ip'];
  for (const words of [
    ['-G', '-F', 'ip,iregs'],
    ['-G', '-F', 'ip,sym,dso,uregs'],
    ['-G', '-F', 'ip,iregs,uregs,code_page_size'],
    ['-F', 'comm,ip,uregs'],
    ['--reltime', ...PLAIN],
    ['--deltatime', ...PLAIN],
    ['--reltime', '--ns', ...PLAIN],
    ['--max-stack', '1', '-F', 'comm,ip,sym'],
    ['--max-stack', '3', '-F', 'comm,ip,sym'],
  ])
    test(`script ${words.join(' ')}`, async () => {
      // perf 6.1 does not name entries of a PLT whose function is chosen when it is loaded (strlen of libc).
      const nameless = (line: string) => line.replace(/\S*@plt\b/, '@plt');
      const trimmed = (text: string) => text.split('\n').map((line) => nameless(line.trimEnd()));
      const { out, err, status } = await counterpoint('script', '-i', data, ...words);
      assert.equal(status, 0, err);
      const theirs = trimmed(perf('script', '-i', data, ...words));
      assert.ok(theirs.length > 5);
      assert.deepEqual(trimmed(out), theirs);
    });

  test('registers and sizes of pages in JSON are those that were asked for', async () => {
    const { out } = await counterpoint('script', '-i', data, '--json', '-F', 'ip,uregs,code_page_size');
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const samples = lines.filter(({ type }) => type === 'sample');
    assert.equal(samples[0].userRegisters.values.length, 2);
    assert.equal(samples[0].interruptRegisters, undefined);
    // The kernel writes 0 where the page is not mapped at that moment: perf prints N/A.
    const sizes = perf('script', '-i', data, '-G', '-F', 'code_page_size').trim().split(/\s+/);
    assert.ok(sizes.includes('4K'));
    assert.deepEqual(
      samples.map(({ codePageSize }) => codePageSize),
      sizes.map((size) => (size === 'N/A' ? '0' : `${Number.parseInt(size, 10) * 1024}`)),
    );
  });

  test('--header before the samples, --header-only instead of them', async () => {
    const whole = await counterpoint('script', '-i', data, '--header', '-F', 'ip');
    assert.match(whole.out, /^# =+\n[\s\S]*# arch : \S+\n[\s\S]*# =+\n\s+[0-9a-f]+/);
    const only = await counterpoint('script', '-i', data, '--header-only');
    assert.ok(whole.out.startsWith(only.out) && only.out.endsWith('# ========\n'));
  });

  test('the header has the lines of perf: when, where in the file, on what, of which events', async () => {
    const theirs = perf('report', '-i', data, '--header-only')
      .split('\n')
      .map((line) => line.trimEnd())
      // Of -I, which says more; and of BPF programs, which come and go.
      .filter(
        (line) =>
          line.length > 1 && !/info available, use -I|^# (?:bpf_prog_info|cpu pmu cap|.* pmu cap)/.test(line),
      );
    const ours = (await counterpoint('report', '-i', data, '--header-only')).out.split('\n');
    const missing = theirs.filter((line) => !ours.includes(line) && !line.startsWith('# missing features'));
    assert.deepEqual(missing, []);
    assert.ok(theirs.length > 15);
    const { capturedAt, dataOffset } = JSON.parse(
      (await counterpoint('report', '-i', data, '--header-only', '--json')).out,
    );
    assert.equal(capturedAt, statSync(data).mtime.toISOString());
    assert.ok(ours.includes(`# data offset    : ${dataOffset}`));
  });

  test('two kinds of time exclude each other, and JSON has its own', async () => {
    for (const words of [
      ['--reltime', '--deltatime'],
      ['--reltime', '--json'],
    ])
      assert.equal((await counterpoint('script', '-i', data, ...words)).status, 129);
  });
});
