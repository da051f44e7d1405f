/** Attrs by the kernel's names of their fields, as perf prints them. */
import { READ_FORMAT_NAMES, SAMPLE_BIT_NAMES } from '@counterpoint/core/abi';

/** Without what is 0, and bits in the kernel's order; an attr of ours, or one that perf printed. */
export function inPerfsWords(attr: Readonly<Record<string, number | string>>): Record<string, string> {
  const fields = Object.entries(attr).flatMap(([name, value]) => {
    if (name === 'size' || value === 0 || value === '0x0' || value === '0') return [];
    if (name === 'sample_freq') return [['sample_period', String(value)]];
    if (name === 'sample_type') return [[name, bitNames(value, SAMPLE_BIT_NAMES)]];
    if (name === 'read_format') return [[name, bitNames(value, READ_FORMAT_NAMES)]];
    return [[name, String(value)]];
  });
  return Object.fromEntries(fields);
}

function bitNames(value: number | string, names: readonly string[]): string {
  const text = String(value);
  const isNumber = /^(?:0x[0-9a-f]+|\d+)$/.test(text);
  const has = (name: string, bit: number) =>
    isNumber ? ((BigInt(text) >> BigInt(bit)) & 1n) === 1n : text.split('|').includes(name);
  return names.filter(has).join('|');
}

/** Two names of one word, and which of them it is here. */
const UNIONS: Readonly<Record<string, string>> = {
  '{ sample_period, sample_freq }': 'sample_period',
  '{ bp_addr, config1 }': 'config1',
  '{ bp_len, config2 }': 'config2',
};

/** The attrs that perf printed, one of each event, by the kernel's names; what is 0 is not printed. */
export function printedAttrs(text: string): Record<string, string>[] {
  return [...text.matchAll(/^perf_event_attr:\n((?: {2}.*\n)+)/gm)].map(([, lines]) =>
    Object.fromEntries(
      [...lines!.matchAll(/^ {2}(\S+|\{ \w+, \w+ \}) +(\S+)$/gm)].flatMap(([, name, value]) =>
        name!.startsWith('{') && UNIONS[name!] === undefined ? [] : [[UNIONS[name!] ?? name!, value!]],
      ),
    ),
  );
}
