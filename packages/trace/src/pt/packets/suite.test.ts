/**
 * Every packet dump of the corpus: libipt's test programs on every processor,
 * and the dumps of traces of ours.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { PERF_RECORD_AUXTRACE } from '@counterpoint/core/abi';
import { corpusUrl, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import type { DumpOptions } from '../dump/dump-packets.ts';
import { dumpPackets } from '../dump/dump-packets.ts';
import { sidebandLines } from '../dump/sideband-text.ts';
import { errataOf, NO_ERRATA, parseCpu } from './errata.ts';
import { PacketCursor } from './packet-cursor.ts';
import { PACKET_TIP, PACKET_TNT8 } from './packet-kinds.ts';

const CORPUS = corpusUrl('pt/');

interface SuiteCase {
  tool: string;
  cpu: string | null;
  pt: string;
  options: string[];
  sideband: { stored: string; file: string; params: Record<string, string> }[];
  expected: string[];
}

const text = (path: string) => readFileSync(new URL(path, CORPUS), 'utf8');
const bytesOf = (path: string) => new Uint8Array(readFileSync(new URL(path, CORPUS)));
const squeeze = (line: string) => line.trim().replace(/\s+/g, ' ');

function dump(path: string, options: DumpOptions): string[] {
  const lines: string[] = [];
  dumpPackets(bytesOf(path), options, (line) => lines.push(line));
  return lines;
}

function optionsOf(folder: string, suiteCase: SuiteCase): { options: DumpOptions; head: string[] } {
  const words = suiteCase.options;
  const has = (word: string) => words.includes(word);
  const number = (word: string) => (has(word) ? Number(words[words.indexOf(word) + 1]) : 0);
  const cpu = suiteCase.cpu ?? (has('--cpu') ? words[words.indexOf('--cpu') + 1]! : null);
  const errata = cpu === null ? NO_ERRATA : errataOf(parseCpu(cpu)!);
  const files = suiteCase.sideband.map(({ stored, file, params }) => ({
    name: file,
    bytes: bytesOf(`suite/${folder}/${stored}`),
    sampleType: BigInt(params['sample-type'] ?? 0),
    clock: {
      timeZero: BigInt(params['time-zero'] ?? 0),
      timeShift: Number(params['time-shift'] ?? 0),
      timeMult: Number(params['time-mult'] ?? 1),
    },
    tscOffset: BigInt(params['tsc-offset'] ?? 0),
  }));
  return {
    head: errata === null ? ['[0: failed to determine errata: unknown cpu]'] : [],
    options: {
      settings: {
        mtcFreq: number('--mtc-freq'),
        nomFreq: number('--nom-freq'),
        cpuid0x15Eax: number('--cpuid-0x15.eax'),
        cpuid0x15Ebx: number('--cpuid-0x15.ebx'),
        errata: errata ?? NO_ERRATA,
      },
      noSync: has('--no-sync'),
      noOffset: has('--no-offset'),
      raw: has('--raw'),
      lastIp: has('--lastip'),
      execMode: has('--exec-mode'),
      delta: has('--time-delta'),
      noCalibration: has('--no-tcal'),
      noWallClock: has('--no-wall-clock'),
      ...(has('--time') ? { track: 'time' } : has('--tcal') ? { track: 'calibration' } : {}),
      ...(files.length === 0
        ? {}
        : { sideband: sidebandLines(files, { offset: has('--sb:offset'), time: has('--sb:time') }) }),
    },
  };
}

test('the dumps of all test programs are as expected, on every processor', {
  skip: lacksCorpus('pt/suite/'),
}, () => {
  let cases = 0;
  for (const folder of readdirSync(new URL('suite/', CORPUS))) {
    if (!existsSync(new URL(`suite/${folder}/manifest.json`, CORPUS))) continue;
    const manifest = JSON.parse(text(`suite/${folder}/manifest.json`)) as { cases: SuiteCase[] };
    for (const suiteCase of manifest.cases.filter(({ tool }) => tool === 'ptdump')) {
      const { options, head } = optionsOf(folder, suiteCase);
      const lines = [...head, ...dump(`suite/${folder}/${suiteCase.pt}`, options)];
      assert.deepEqual(lines.map(squeeze), suiteCase.expected, `${folder} on ${suiteCase.cpu ?? 'any cpu'}`);
      cases++;
    }
  }
  assert.ok(cases > 200, `${cases} cases`);
});

test('dumps of our own trace are equal to the letter', {
  skip: lacksCorpus('pt/own/golden-ptdump-base.txt.gz'),
}, () => {
  const golden = (name: string) =>
    gunzipSync(readFileSync(new URL(`own/${name}`, CORPUS)))
      .toString()
      .trimEnd()
      .split('\n');
  const firstDifference = (ours: readonly string[], theirs: readonly string[]) => {
    const at = theirs.findIndex((line, index) => ours[index] !== line);
    return at < 0
      ? ours.length === theirs.length
        ? null
        : `length ${ours.length}`
      : [at, ours[at], theirs[at]];
  };
  const base = dump('own/base.pt', { raw: true, lastIp: true });
  assert.equal(firstDifference(base, golden('golden-ptdump-base.txt.gz')), null);
  const settings = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };
  const cyc = dump('own/cyc.pt', { settings, track: 'time' });
  assert.equal(firstDifference(cyc, golden('golden-ptdump-time-cyc.txt.gz')), null);
});

test('a recording of a real processor: every byte is a packet', {
  skip: lacksCorpus('perfdata/quipper/'),
}, () => {
  const file = bytesOf('../perfdata/quipper/perf.data.intel_pt-4.14');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  // The header of a perf.data file: the section of records.
  const begin = Number(view.getBigUint64(40, true));
  const end = begin + Number(view.getBigUint64(48, true));
  const counts = new Map<number, number>();
  for (let at = begin; at < end; ) {
    const size = view.getUint16(at + 6, true);
    const isTrace = view.getUint32(at, true) === PERF_RECORD_AUXTRACE;
    const traceBytes = isTrace ? Number(view.getBigUint64(at + 8, true)) : 0;
    const cursor = new PacketCursor(file, { from: at + size, to: at + size + traceBytes });
    for (const { kind } of cursor.packets()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    assert.deepEqual([cursor.resynchronizations, cursor.position], [0, at + size + traceBytes]);
    at += size + traceBytes;
  }
  assert.deepEqual([counts.get(PACKET_TNT8), counts.get(PACKET_TIP)], [69_516, 12_039]);
});
