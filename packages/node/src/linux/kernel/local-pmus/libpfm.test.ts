import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { EventSyntaxError, parsePfmEvents } from '@counterpoint/core/events';
import { encodeAttr } from '@counterpoint/core/records';
import fc from 'fast-check';
import { askLibPfm } from '../../../test/libpfm-oracle.ts';
import { loadLibPfm } from '../sys/index.ts';
import { systemPfmLibrary } from './libpfm-lookup.ts';

const texts = readFileSync(
  new URL('../../../../../../fixtures/events/libpfm-texts.txt', import.meta.url),
  'utf8',
);

const library = loadLibPfm();
const hasTables = library !== null && process.arch === 'x64';

test('without the library the error says how to install it', () => {
  assert.throws(
    () => systemPfmLibrary(null),
    (error) => error instanceof CounterpointError && /apt-get install libpfm4/.test(error.remedy),
  );
});

describe('libpfm4', { skip: hasTables ? false : 'libpfm4 with the tables of x86 is not installed' }, () => {
  const pfm = hasTables ? systemPfmLibrary() : null!;

  test('encodes as it does for a program in C', (context) => {
    const rows = askLibPfm(texts);
    if (typeof rows === 'string') return context.skip(rows);
    let compared = 0;
    for (const { text, perf, raw } of rows) {
      const encoding = pfm.encode(text);
      const [perfCode, cpu, bytes] = perf;
      const [rawCode, ...codes] = raw;
      if ('part' in encoding) {
        assert.notEqual(perfCode, '0', text);
        continue;
      }
      assert.equal(encoding.attr === null, perfCode !== '0', text);
      if (encoding.attr !== null) {
        const ours = encodeAttr(encoding.attr).fill(0, 4, 8);
        assert.equal(
          Buffer.from(ours)
            .toString('hex')
            .replace(/(?:00)+$/, '') || '00',
          bytes,
          text,
        );
        assert.equal(String(encoding.cpu), cpu);
      }
      assert.deepEqual(
        encoding.codes.map((code) => code.toString(16)),
        rawCode === '0' ? codes : [],
        text,
      );
      compared++;
    }
    assert.ok(compared >= 25, `only ${compared}`);
  });

  test('has the tables of CPUs that are not here', () => {
    const names = pfm.pmus().map(({ name }) => name);
    for (const name of ['perf', 'skx', 'hsw', 'netburst', 'amd64_fam19h_zen3'])
      assert.ok(names.includes(name), name);
    const foreign = pfm.pmus().find(({ name }) => name === 'amd64_k8_revf')!;
    assert.equal(foreign.isPresent, false);
    const [event] = parsePfmEvents('amd64_k8_revf::DATA_CACHE_ACCESSES:u', pfm);
    assert.equal(event!.foreignPmu, foreign.description);
    assert.equal(parsePfmEvents('perf::faults', pfm)[0]!.foreignPmu, undefined);
  });

  test('groups are those of the list', () => {
    const events = parsePfmEvents(' {cycles:u, instructions:k} ,perf::faults:period=5,{perf::cs}', pfm, {
      firstGroup: 3,
    });
    assert.deepEqual(
      events.map(({ name, group, isLeader, periodGiven }) => [name, group, isLeader, periodGiven]),
      [
        ['cycles:u', 3, true, false],
        ['instructions:k', 3, false, false],
        ['perf::faults:period=5', null, true, true],
        ['perf::cs', 4, true, false],
      ],
    );
    assert.equal(events[2]!.attr.samplePeriodOrFreq, 5n);
  });

  test('what is wrong is pointed at', () => {
    const rowsOfErrors: [string, number, RegExp][] = [
      ['skz::L2_RQSTS', 0, /no table of a PMU skz; did you mean/],
      ['zen3::X', 0, /did you mean amd64_fam19h_zen3/],
      ['mips_24k::CYCLES', 0, /no table of a PMU mips_24k/],
      ['cycles,skx::L2_RQST:MISS', 12, /^skx has no event L2_RQST; did you mean L2_RQSTS\?$/],
      ['skx::L2_RQSTS:MIS', 14, /^L2_RQSTS has no attribute MIS; did you mean MISS\?$/],
      ['skx::L2_RQSTS:MISS:c=300', 19, /^c=300: invalid event attribute value$/],
      ['skx::L2_RQSTS:MISS:c=1:c=2', 23, /^c=2: /],
      ['skx_unc_imc0::UNC_M_CAS_COUNT:RD', 0, /^perf has no form for events of skx_unc_imc0, .*: 0x304$/],
      ['no_such_event_at_all', 0, /^the PMUs of this machine have no event/],
      ['{cycles', 0, /not closed/],
      ['cycles}', 6, /^unexpected '}'$/],
      ['{cycles}x', 8, /^expected , after }$/],
      ['{{cycles}}', 1, /^unexpected '\{'$/],
      ['cycles,,', 7, /^expected an event, found ','$/],
      ['', 0, /^expected an event, found the end$/],
    ];
    for (const [text, column, reason] of rowsOfErrors) {
      assert.throws(
        () => parsePfmEvents(text, pfm),
        (error) => {
          assert.ok(error instanceof EventSyntaxError, `${text}: ${String(error)}`);
          assert.match(error.reason, reason, text);
          assert.equal(error.column, column, `${text}: ${error.reason}`);
          return true;
        },
      );
    }
  });

  test('no text does anything but be read or refused', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ':',
        '::',
        '=',
        ',',
        '{',
        '}',
        '.',
        ' ',
        'skx',
        'perf',
        'cycles',
        'L2_RQSTS',
        'MISS',
        'c=1',
        'u',
        '0x3f',
      ),
      fc.constantFrom('\u0000', 'é', '%s%n', 'period=99999999999999999999', '-1'),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), (pieces) => {
        try {
          parsePfmEvents(pieces.join(''), pfm);
        } catch (error) {
          assert.ok(error instanceof EventSyntaxError, String(error));
        }
      }),
      { numRuns: 1500 },
    );
    assert.throws(() => parsePfmEvents('cycles\u0000:u', pfm), EventSyntaxError);
    assert.throws(() => parsePfmEvents(`skx::${'A'.repeat(100_000)}`, pfm), EventSyntaxError);
  });
});
