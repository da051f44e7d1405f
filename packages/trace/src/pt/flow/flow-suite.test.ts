import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { corpusUrl, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { CodeImage, parseRawCode } from '../../code/image/index.ts';
import { errataOf, NO_ERRATA, parseCpu } from '../packets/errata.ts';
import { AddressFilter, FILTER_OFF } from './address-filter.ts';
import { FlowDecoder } from './flow-decoder.ts';
import { printFlow } from './print-flow.ts';

const SUITE = corpusUrl('pt/suite/');

interface SuiteCase {
  tool: string;
  cpu: string | null;
  options: string[];
  expected_file: string;
  sideband: unknown[];
}
interface Manifest {
  name: string;
  load_address: string;
  cases: SuiteCase[];
}

/** Runs of blanks count as one, so do empty lines. */
function normalize(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
}

function numberAfter(options: string[], name: string): number {
  const at = options.indexOf(name);
  return at < 0 ? 0 : Number(options[at + 1]);
}

function run(folder: URL, manifest: Manifest, one: SuiteCase): string[] {
  const { options } = one;
  const bytes = new Uint8Array(readFileSync(new URL('trace.pt', folder)));
  const code = new Uint8Array(readFileSync(new URL('image.bin', folder)));
  const lines: string[] = [];
  const image = new CodeImage();
  image.addSection({ name: 'image', address: BigInt(manifest.load_address), bytes: code });
  for (let at = 0; at < options.length; at++) {
    if (options[at] !== '--raw') continue;
    const raw = parseRawCode(options[at + 1]!);
    image.addSection({
      name: 'raw',
      address: raw.address,
      bytes: code.subarray(raw.offset, raw.end ?? code.length),
    });
  }
  const cpuAt = options.indexOf('--cpu');
  const cpu = parseCpu(one.cpu ?? (cpuAt >= 0 ? options[cpuAt + 1]! : ''));
  const errata = cpu === null ? NO_ERRATA : errataOf(cpu);
  if (errata === null) lines.push('[0, 0: config error: unknown cpu]');
  const use = numberAfter(options, '--filter:addr0_cfg');
  const filter = new AddressFilter([
    {
      use: use === 0 ? FILTER_OFF : use,
      first: BigInt(numberAfter(options, '--filter:addr0_a')),
      last: BigInt(numberAfter(options, '--filter:addr0_b')),
    },
  ]);
  const decoder = new FlowDecoder(bytes, image, {
    errata: errata ?? NO_ERRATA,
    filter,
    settings: {
      mtcFreq: numberAfter(options, '--mtc-freq'),
      nomFreq: numberAfter(options, '--nom-freq'),
      cpuid0x15Eax: numberAfter(options, '--cpuid-0x15.eax'),
      cpuid0x15Ebx: numberAfter(options, '--cpuid-0x15.ebx'),
      errata: errata ?? NO_ERRATA,
    },
    interruptFlags: options.includes('--event:iflags'),
    ticks: options.includes('--event:tick'),
  });
  const isBlocks = options.includes('--block-decoder');
  const summary = printFlow(
    decoder,
    {
      quiet: options.includes('--quiet'),
      eventTime: options.includes('--event:time'),
      eventIp: options.includes('--event:ip'),
      resume: options.includes('--resync-on-error'),
      ...(isBlocks
        ? {
            blocks: {
              show: options.includes('--block:show-blocks'),
              endOnCall: options.includes('--block:end-on-call'),
            },
          }
        : {}),
    },
    (text) => lines.push(text),
  );
  if (options.includes('--stat') || options.includes('--stat:insn'))
    lines.push(`insn: ${summary.instructions}.`);
  if (options.includes('--stat') && isBlocks) lines.push(`blocks: ${summary.blocks}.`);
  return lines;
}

const names = existsSync(SUITE) ? readdirSync(SUITE).sort() : [];
if (names.length === 0) test('the suite', { skip: lacksCorpus('pt/suite/') }, () => {});
for (const name of names) {
  const folder = new URL(`${name}/`, SUITE);
  if (!existsSync(new URL('manifest.json', folder))) continue;
  const manifest = JSON.parse(readFileSync(new URL('manifest.json', folder), 'utf8')) as Manifest;
  for (const one of manifest.cases) {
    if (one.tool !== 'ptxed' || one.sideband.length > 0) continue;
    test(`${name} ${one.cpu ?? ''}`, () => {
      const expected = normalize(readFileSync(new URL(one.expected_file, folder), 'utf8'));
      assert.deepEqual(normalize(run(folder, manifest, one).join('\n')), expected);
    });
  }
}
