import { didYouMean, nearestNames } from '@counterpoint/core/base';
import {
  encodePfmEvent,
  isGlob,
  matchesGlob,
  type PfmEvent,
  type PfmLibrary,
  type PfmPmu,
} from '@counterpoint/core/events';
import { systemPfmLibrary } from '../../../linux/kernel/local-pmus/index.ts';
import { EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';

export interface ListPfmOptions {
  json: boolean;
  withDescriptions: boolean;
  /** Events to encode, instead of a list. */
  encode: readonly string[];
}

interface Found {
  pmu: PfmPmu;
  event: PfmEvent;
}

/** `counterpoint list --pfm`: 0 where something was found. */
export function listPfm(
  words: readonly string[],
  options: ListPfmOptions,
  out: Output,
  err: Output,
  library: PfmLibrary = systemPfmLibrary(),
): number {
  if (options.encode.length > 0) return printEncodings(options.encode, options.json, out, library);
  const pmus = library.pmus();
  if (words.length === 0) return printPmus(pmus, options.json, out);
  const found = words.flatMap((word) => findEvents(word, library));
  if (options.json)
    out.json({ type: 'pfm-event-list', version: 1, events: found.map((one) => jsonOf(one, library)) });
  else printEvents(found, options, out, library);
  if (found.length > 0) return EXIT_OK;
  const near = words.flatMap((word) =>
    nearestNames(
      word,
      pmus.map(({ name }) => name),
    ),
  );
  err.line(`libpfm4 has no event or PMU like ${words.join(', ')}${didYouMean(near)}`);
  return EXIT_FAILURE;
}

function printPmus(pmus: readonly PfmPmu[], json: boolean, out: Output): number {
  if (json) {
    const rows = pmus.map(({ name, description, isPresent, counters, fixedCounters }) => ({
      name,
      description,
      isPresent,
      counters,
      fixedCounters,
    }));
    out.json({ type: 'pfm-pmu-list', version: 1, pmus: rows });
    return EXIT_OK;
  }
  out.table(
    [{ title: 'PMU' }, { title: 'HERE' }, { title: 'COUNTERS', align: 'right' }, { title: 'DESCRIPTION' }],
    pmus.map(({ name, description, isPresent, counters, fixedCounters }) => [
      name,
      isPresent ? 'yes' : '',
      counters + fixedCounters === 0 ? '' : `${counters} + ${fixedCounters}`,
      description,
    ]),
  );
  return EXIT_OK;
}

/** `PMU`, `PMU::EVENT`, or a part of a name: then in the PMUs of this machine first. */
function findEvents(word: string, library: PfmLibrary): Found[] {
  const pmus = library.pmus();
  const lower = word.toLowerCase();
  const colons = lower.indexOf('::');
  if (colons >= 0) {
    const inside = pmus.filter(({ name }) => fits(name.toLowerCase(), lower.slice(0, colons), true));
    return eventsOf(inside, lower.slice(colons + 2), library);
  }
  const exact = pmus.filter(({ name }) => name.toLowerCase() === lower);
  if (exact.length > 0) return eventsOf(exact, '', library);
  const here = eventsOf(
    pmus.filter(({ isPresent }) => isPresent),
    lower,
    library,
  );
  return here.length > 0 ? here : eventsOf(pmus, lower, library);
}

function eventsOf(pmus: readonly PfmPmu[], pattern: string, library: PfmLibrary): Found[] {
  return pmus.flatMap((pmu) =>
    library
      .events(pmu)
      .filter(
        ({ name, description }) =>
          fits(name.toLowerCase(), pattern, false) ||
          (!isGlob(pattern) && description.toLowerCase().includes(pattern)),
      )
      .map((event) => ({ pmu, event })),
  );
}

function fits(text: string, pattern: string, whole: boolean): boolean {
  if (isGlob(pattern)) return matchesGlob(text, pattern);
  return whole ? text === pattern : text.includes(pattern);
}

function jsonOf({ pmu, event }: Found, library: PfmLibrary): Record<string, unknown> {
  const attributes = library.attributes(event);
  const plain = (isUnitMask: boolean) =>
    attributes
      .filter((one) => one.isUnitMask === isUnitMask)
      .map(({ name, description, isDefault }) => ({ name, description, isDefault }));
  return {
    name: `${pmu.name}::${event.name}`,
    pmu: pmu.name,
    isPresent: pmu.isPresent,
    description: event.description,
    unitMasks: plain(true),
    modifiers: plain(false).map(({ name, description }) => ({ name, description })),
  };
}

/** One event with all that can be added to it, or many by a line each. */
function printEvents(
  found: readonly Found[],
  { withDescriptions }: ListPfmOptions,
  out: Output,
  library: PfmLibrary,
): void {
  const { bold, dim } = out.style;
  for (const { pmu, event } of found) {
    const name = `${pmu.name}::${event.name}`;
    out.line(withDescriptions ? `${bold(name.padEnd(44))} ${event.description}` : name);
    if (found.length > 1) continue;
    for (const { name: attribute, description, isUnitMask, isDefault } of library.attributes(event)) {
      const kind = isUnitMask ? (isDefault ? 'mask, default' : 'mask') : 'modifier';
      out.line(`  :${attribute.padEnd(32)} ${dim(`[${kind}]`)} ${description}`);
    }
  }
}

function printEncodings(names: readonly string[], json: boolean, out: Output, library: PfmLibrary): number {
  const hex = (value: bigint | number) => `0x${value.toString(16)}`;
  const rows = names.map((name) => {
    const { attr, codes, fullName, pmu } = encodePfmEvent(name, name, 0, library);
    return {
      name,
      fullName,
      pmu: pmu.name,
      isPresent: pmu.isPresent,
      perf:
        attr === null
          ? null
          : {
              type: attr.type,
              config: hex(attr.config),
              config1: hex(attr.config1),
              config2: hex(attr.config2),
            },
      codes: codes.map(hex),
    };
  });
  if (json) {
    out.json({ type: 'pfm-encoding', version: 1, events: rows });
    return EXIT_OK;
  }
  for (const { name, fullName, perf, codes, isPresent, pmu } of rows) {
    out.line(out.style.bold(name));
    out.line(`  in full    ${fullName}`);
    out.line(
      `  perf       ${perf === null ? 'has no form for it' : `type=${perf.type} config=${perf.config} config1=${perf.config1} config2=${perf.config2}`}`,
    );
    out.line(`  hardware   ${codes.length === 0 ? 'chosen by the kernel' : codes.join(' ')}`);
    if (!isPresent) out.line(`  ${pmu} is not in this machine`);
  }
  return EXIT_OK;
}
