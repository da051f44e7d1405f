import { isGlob, matchesGlob } from './glob.ts';
import type { EventLookup, PmuDescription } from './types.ts';

/** What may follow a name that several PMUs share: a number, or the address of the device in hexadecimal. */
const INSTANCE = /^(?:_?\d*|_[0-9a-f]{3,})$/;

/**
 * The PMUs that a name before the slash means: the one of that name; or those that share it but for
 * a number at the end (`uncore_imc` is `uncore_imc_0` and `uncore_imc_1`), with `uncore_` left out
 * or not; or those of a wildcard.
 */
export function findPmus(name: string, lookup: EventLookup): PmuDescription[] {
  const exact = lookup.pmu(name);
  if (exact !== null) return [exact];
  const found: PmuDescription[] = [];
  for (const candidate of lookup.pmuNames()) {
    if (!isPmuMeant(candidate, name)) continue;
    const pmu = lookup.pmu(candidate);
    if (pmu !== null) found.push(pmu);
  }
  return found;
}

/**
 * Whether a PMU is one that a name means which is not its own: `uncore_imc`,
 * `imc`, `*imc*` for `uncore_imc_0`.
 */
export function isPmuMeant(pmu: string, name: string): boolean {
  const short = name.startsWith('uncore_') ? pmu : pmu.replace(/^uncore_/, '');
  const numbered = short.startsWith(name) && INSTANCE.test(short.slice(name.length));
  return numbered || (isGlob(name) && matchesGlob(short, name));
}

/** PMUs of a name that only tables know. */
export function findAbsentPmus(name: string, lookup: EventLookup): PmuDescription[] {
  return (lookup.absentPmus?.() ?? []).filter((pmu) => pmu.name === name || isPmuMeant(pmu.name, name));
}

/**
 * The PMUs that have an event of this name in the kernel's or a vendor's tables: `mem-loads`, `tsc`. Case
 * does not count. Those that this machine does not have come into question where it has none.
 */
export function findPmuEvents(name: string, lookup: EventLookup): { pmu: PmuDescription; event: string }[] {
  const wanted = name.toLowerCase();
  const found: { pmu: PmuDescription; event: string }[] = [];
  for (const candidate of lookup.pmuNames()) {
    const pmu = lookup.pmu(candidate);
    const event = pmu === null ? undefined : findEvent(pmu, wanted);
    if (pmu !== null && event !== undefined) found.push({ pmu, event });
  }
  if (found.length > 0) return found;
  for (const pmu of lookup.absentPmus?.() ?? []) {
    const event = findEvent(pmu, wanted);
    if (event !== undefined) found.push({ pmu, event });
  }
  return found;
}

/** An event of a PMU's table by its own spelling. */
export function findEvent(pmu: PmuDescription, wanted: string): string | undefined {
  if (pmu.events.has(wanted)) return wanted;
  for (const name of pmu.events.keys()) if (name.toLowerCase() === wanted) return name;
  return undefined;
}
