import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { counterpoint } from '../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../test/perf.ts';
import { parseTimes, TimeFormError } from './time-option.ts';

const LOOP = 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done';
const SPAN = { first: 1000n, last: 2000n };

const shown = (text: string, span: typeof SPAN | undefined = SPAN) =>
  parseTimes(text, span).map(({ fromNs, toNs }) => `${fromNs ?? ''}..${toNs ?? ''}`);

describe('--time', () => {
  test('seconds, alone and several; open ends', () => {
    assert.deepEqual(shown('1,2.5'), ['1000000000..2500000000']);
    assert.deepEqual(shown(',2'), ['..2000000000']);
    assert.deepEqual(shown('1.,'), ['1000000000..']);
    assert.deepEqual(shown('1 , 2'), ['1000000000..2000000000']);
    assert.deepEqual(shown('1,2 3,4  5,', undefined), [
      '1000000000..2000000000',
      '3000000000..4000000000',
      '5000000000..',
    ]);
  });

  test('parts: the end of one belongs to the next, but for the last moment', () => {
    assert.deepEqual(shown('10%'), ['1000..1099']);
    assert.deepEqual(shown('10%/2'), ['1100..1199']);
    assert.deepEqual(shown('10%/10'), ['1900..2000']);
    assert.deepEqual(shown('0%-10%,30%-40%'), ['1000..1099', '1300..1399']);
    assert.deepEqual(shown('10%/1, 50%-100%'), ['1000..1099', '1500..2000']);
    assert.deepEqual(shown('100%'), ['1000..2000']);
    assert.deepEqual(shown('.5%/3'), ['1010..1014']);
  });

  test('what is none of these is refused', () => {
    for (const text of [
      '',
      '5',
      '1,2,3',
      '1,2 3',
      'a,b',
      '10%,20%',
      '10%/0',
      '10%/11',
      '0%',
      '20%-10%',
      '-1,2',
      '10%-',
    ])
      assert.throws(() => parseTimes(text, SPAN), TimeFormError, text);
    assert.throws(() => parseTimes('10%', undefined), /seconds, because/);
  });

  test('the same samples as perf for each form', { skip: perfIsMissing() }, async (t) => {
    const file = join(temporaryFolder(t), 'perf.data');
    perf('record', '-q', '-e', 'cpu-clock:u', '-F', '5000', '-o', file, '--', 'sh', '-c', LOOP);
    const times = perf('script', '-i', file, '-G', '--ns', '-F', 'time').match(/\d+\.\d+/g)!;
    const at = (share: number) => times[Math.floor(share * (times.length - 1))]!;
    const forms = [
      ...[
        '10%',
        '10%/2',
        '33.3%/3',
        '0%-10%',
        '0%-10%,30%-40%',
        '10%/1,10%/2',
        '20%-100%',
        '100%',
        '50%-50%',
      ],
      ...[
        `${at(0.2)},${at(0.4)}`,
        `,${at(0.1)}`,
        `${at(0.9)},`,
        `${at(0.1)},${at(0.2)} ${at(0.5)},${at(0.6)}`,
      ],
      `,${at(0.1)} ${at(0.5)},${at(0.6)} ${at(0.9)},`,
    ];
    const taken = new Set<number>();
    for (const form of forms) {
      const theirs = perf('script', '-i', file, '-G', '--ns', '-F', 'time', '--time', form).match(
        /\d+\.\d+/g,
      );
      const { status, out } = await counterpoint(
        ...['script', '-i', file, '-G', '--ns', '-F', 'time', '--time', form],
      );
      assert.equal(status, 0, form);
      assert.deepEqual(out.match(/\d+\.\d+/g), theirs, form);
      taken.add(theirs?.length ?? 0);
    }
    assert.ok(taken.size > 5);
    const reported = await counterpoint('report', '-i', file, '--json', '--time', '0%-10%,30%-40%');
    const folded = await counterpoint(
      ...['export', '-i', file, '-f', 'folded', '-o', '-', '--time', '0%-10%,30%-40%'],
    );
    const samples = perf('script', '-i', file, '-F', 'time', '--time', '0%-10%,30%-40%').match(/\d+\.\d+/g)!;
    const foldedSum = folded.out
      .trim()
      .split('\n')
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
    assert.equal(foldedSum, samples.length);
    assert.equal(JSON.parse(reported.out).events[0].samples, samples.length);
  });
});
