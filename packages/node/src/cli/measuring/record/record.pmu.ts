import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf } from '../../../test/perf.ts';

/** The rows of a report: share and label, without comments. */
function rows(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => line.trim().replace(/\s+/g, ' '));
}

/** perf names modules of the kernel only where their files are, and the guest has none. */
const withoutModules = (text: string) =>
  text.replace(/\(\[(?!kernel|vdso|unknown)\w+\]\)/g, '([kernel.kallsyms])');

describe('recording cycles of a program that reads a file of the host', () => {
  const file = '/tmp/perf.data';
  let said = '';

  before(async () => {
    writeFileSync('/host/file', new Uint8Array(500_000));
    const words = ['record', '-g', '-o', file, '--', 'busybox', 'md5sum', '/host/file'];
    const { status, err } = await counterpoint(...words);
    assert.equal(status, 0, err);
    said = err;
  });

  test('is on hardware: no other event took the place of cycles', () => {
    assert.doesNotMatch(said, /instead of/);
    assert.match(perf('evlist', '-i', file), /^cycles:P$/m);
    assert.match(
      perf('evlist', '-v', '-i', file),
      /sample_freq }: 4000, sample_type: IP\|TID\|TIME\|CALLCHAIN\|PERIOD/,
    );
  });

  test('has samples of the program, the kernel and its modules, which perf reads as we do', async () => {
    const ours = await counterpoint('script', '-i', file);
    assert.equal(ours.status, 0, ours.err);
    assert.ok(ours.out.split('\n\n').length > 50, ours.out);
    assert.match(ours.out, /\(\/bin\/busybox\)/);
    assert.match(ours.out, /p9_virtio_\w+\+0x[0-9a-f]+ \(\[9pnet_virtio\]\)/);
    assert.deepEqual(withoutModules(ours.out).split('\n'), perf('script', '-i', file).split('\n'));
  });
});

describe('other ways to count cycles', () => {
  const file = '/tmp/other.data';
  const record = (...words: string[]) =>
    counterpoint('record', '-o', file, ...words, '--', 'busybox', 'md5sum', '/host/file');

  test('precise samples, where the CPU has no such thing, are samples; the report is that of perf', async () => {
    assert.equal((await record('-e', 'cycles:ppu')).status, 0);
    assert.match(perf('evlist', '-i', file), /^cycles:ppu$/m);
    const words = ['report', '--no-children', '--sort', 'comm,dso', '-i', file];
    const ours = rows((await counterpoint(...words)).out);
    assert.match(ours[0] ?? '', /busybox busybox$/);
    assert.deepEqual(ours, rows(perf(...words, '--stdio')));
  });

  test('a period, by the name of the PMU and by number', async () => {
    for (const event of ['armv8_pmuv3/cpu_cycles/', 'armv8_pmuv3/event=0x11/', 'r11']) {
      const { status, err } = await record('-c', '200000', '-e', event);
      assert.equal(status, 0, err);
      assert.match(
        perf('evlist', '-v', '-i', file),
        /config: 0x11, \{ sample_period, sample_freq \}: 200000/,
      );
    }
  });

  test('an event that the CPU does not have is refused by name', async () => {
    const { status, err } = await record('-e', 'instructions');
    assert.notEqual(status, 0);
    assert.match(err, /the event instructions is not supported here/);
  });
});

test('doctor finds the counters', async () => {
  const { status, out } = await counterpoint('doctor');
  assert.equal(status, 0, out);
  assert.match(out, /^hardware counters +ok /m);
});
