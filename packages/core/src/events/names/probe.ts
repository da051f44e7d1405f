import { didYouMean, nearestNames, printable } from '../../base/index.ts';
import { EventSyntaxError } from './errors.ts';
import { parseFormat, placeBits } from './format-bits.ts';
import { isGlob, matchesGlob } from './glob.ts';
import {
  endOfFunction,
  functionsByReadableName,
  type ReadableFunction,
  readableNamesLike,
  splitPlace,
  typedForm,
  withoutQuotes,
} from './probe-names.ts';
import type { EventLookup, PmuDescription, Probe, ProbeFile } from './types.ts';

/**
 * Probes as bpftrace writes them:
 *
 *   uprobe:/usr/lib/libc.so.6:malloc+4      uretprobe:'/odd, path':main      kprobe:do_sys_open
 *   kind   file               function      kind      file         function  kind   function
 */
export interface ProbeText {
  readonly kind: 'uprobe' | 'kprobe';
  readonly isReturn: boolean;
  /** Empty for a kprobe. */
  readonly path: string;
  readonly pathAt: number;
  /** What stands behind: `malloc+4`, or `0x1234`; without quotes. */
  readonly place: string;
  readonly placeAt: number;
  /** Behind it, as it was typed. */
  readonly placeEnd: number;
}

const KINDS: ReadonlyMap<string, { kind: 'uprobe' | 'kprobe'; isReturn: boolean }> = new Map([
  ['uprobe', { kind: 'uprobe', isReturn: false }],
  ['uretprobe', { kind: 'uprobe', isReturn: true }],
  ['kprobe', { kind: 'kprobe', isReturn: false }],
  ['kretprobe', { kind: 'kprobe', isReturn: true }],
]);

/** A file with more functions than these that match is a mistake of the wildcard. */
const MOST_PROBES = 1024;

/**
 * Where the head of a probe ends: after its function. Up to there, slashes, commas and colons may be part of
 * names. 0 if the text is no probe.
 */
export function endOfProbe(text: string, at: number): number {
  const end = endOfProbePath(text, at);
  return end > 0 && text[end] === ':' ? endOfFunction(text, end + 1) : end;
}

/** Behind its file. */
export function endOfProbePath(text: string, at: number): number {
  const match = /^u(?:ret)?probe:/.exec(text.slice(at, at + 'uretprobe:'.length));
  if (match === null) return 0;
  const start = at + match[0].length;
  if (text[start] === "'") {
    const close = text.indexOf("'", start + 1);
    if (close < 0) throw new EventSyntaxError(text, start, 'the closing quote is missing');
    return close + 1;
  }
  let end = start;
  while (end < text.length && !':,{}'.includes(text[end]!)) end++;
  return end;
}

/** `uprobe/…/`: what the kernel's probe PMUs want (pointers to a text) cannot be said in terms. */
export function refuseProbeTerms(head: string, source: string, at: number): void {
  const known = KINDS.get(head);
  if (known === undefined) return;
  const form = known.kind === 'uprobe' ? `${head}:FILE:FUNCTION` : `${head}:FUNCTION`;
  const example = known.kind === 'uprobe' ? `${head}:/usr/lib/libc.so.6:malloc` : `${head}:do_sys_openat2`;
  throw new EventSyntaxError(
    source,
    at,
    `a probe has no terms between slashes; write ${form}`,
    `For example ${example}; add +OFFSET after the function for a place inside it.`,
  );
}

/** The parts of a head that begins like a probe; `null` where it does not. `at` is its place in `source`. */
export function readProbe(head: string, source: string, at: number): ProbeText | null {
  const colon = head.indexOf(':');
  const known = KINDS.get(head.slice(0, Math.max(0, colon)));
  if (known === undefined) return null;
  let next = colon + 1;
  let path = '';
  const pathAt = at + next;
  if (known.kind === 'uprobe') {
    const end = endOfProbePath(head, 0);
    path = head.slice(next, end);
    if (path.startsWith("'")) path = path.slice(1, -1);
    if (path === '' || head[end] !== ':') {
      throw new EventSyntaxError(
        source,
        path === '' ? pathAt : at + end,
        `expected ${head.slice(0, colon)}:FILE:FUNCTION`,
      );
    }
    next = end + 1;
  }
  const end = endOfFunction(head, next);
  const place = withoutQuotes(head.slice(next, end));
  if (place === '') throw new EventSyntaxError(source, at + next, 'expected a function');
  if (place.startsWith("'")) throw new EventSyntaxError(source, at + next, 'the closing quote is missing');
  return { ...known, path, pathAt, place, placeAt: at + next, placeEnd: at + end };
}

/** Every probe that a text means: several for a wildcard. */
export function resolveProbes(text: ProbeText, source: string, lookup: EventLookup): Probe[] {
  const split = splitPlace(text.place);
  if (split === null) {
    throw new EventSyntaxError(
      source,
      text.placeAt + text.place.lastIndexOf('+') + 1,
      'expected an offset in bytes',
    );
  }
  return text.kind === 'uprobe'
    ? resolveInFile(text, split, source, lookup)
    : [resolveInKernel(text, split, source, lookup)];
}

function resolveInFile(
  { path, pathAt, place, placeAt, isReturn }: ProbeText,
  { name, offset }: { name: string; offset: number },
  source: string,
  lookup: EventLookup,
): Probe[] {
  const file = lookup.probeFile?.(path) ?? {
    unavailable: 'files cannot be read here',
    remedy: 'Use counterpoint on Linux: it finds functions in files.',
  };
  if ('unavailable' in file) throw new EventSyntaxError(source, pathAt, file.unavailable, file.remedy);
  if (isReturn && file.isGo === true) {
    throw new EventSyntaxError(
      source,
      pathAt,
      `${printable(file.path)} is a Go program, and a return probe would break it (Go finds the kernel's return address on a stack that it moves)`,
      `Probe where the function begins, uprobe:${path}:FUNCTION, or each of its return instructions by uprobe:${path}:FUNCTION+OFFSET.`,
    );
  }
  if (isReturn && offset !== 0) {
    throw new EventSyntaxError(
      source,
      placeAt + name.length,
      'a return probe has no place inside the function',
    );
  }
  const probe = (symbol: string | null, address: number): Probe => {
    const inFile = file.offsetOf(address);
    if (inFile === null) {
      throw new EventSyntaxError(
        source,
        placeAt,
        `${printable(file.path)} has no code at 0x${address.toString(16)}`,
      );
    }
    return { kind: 'uprobe', target: file.path, offset: BigInt(inFile), isReturn, symbol };
  };
  if (/^0x[0-9a-fA-F]{1,13}$/.test(name)) return [probe(null, Number(name) + offset)];
  if (file.indirect.has(name)) throw indirectFunction(name, file, source, placeAt);
  const exact = file.functions.get(name);
  const requireInside = (candidate: string) => {
    const sizeBytes = file.sizes?.get(candidate) ?? 0;
    if (offset > 0 && sizeBytes > 0 && offset >= sizeBytes)
      throw new EventSyntaxError(source, placeAt + name.length, `${candidate} has only ${sizeBytes} bytes`);
  };
  const withOffset = (function_: string) => (offset === 0 ? function_ : `${function_}+${offset}`);
  const requireFewProbes = (count: number) => {
    if (count <= MOST_PROBES) return;
    const reason = `${count} functions match, but at most ${MOST_PROBES} can be probed`;
    throw new EventSyntaxError(source, placeAt, reason);
  };
  const readableProbes = (matching: readonly ReadableFunction[]) => {
    const byAddress = new Map(matching.map((each) => [each.address, each]));
    requireFewProbes(byAddress.size);
    for (const { symbol } of byAddress.values()) requireInside(symbol);
    // One is meant by what was typed.
    return [...byAddress.values()].map(({ readable: whole, address }) =>
      probe(byAddress.size === 1 && !isGlob(name) ? place : withOffset(typedForm(whole)), address + offset),
    );
  };
  if (exact !== undefined) {
    requireInside(name);
    return [probe(place, exact + offset)];
  }
  const found = isGlob(name) ? [...file.functions].filter(([candidate]) => matchesGlob(candidate, name)) : [];
  const readable = found.length > 0 ? [] : functionsByReadableName(file, name);
  if (readable.length > 0) return readableProbes(readable);
  if (!isGlob(name)) throw noFunction(name, path, file, source, placeAt);
  if (found.length === 0)
    throw new EventSyntaxError(source, placeAt, `no function of ${printable(file.path)} matches`);
  requireFewProbes(found.length);
  // Two names of one function are one probe.
  const places = new Map(found.map(([candidate, address]) => [address, candidate]));
  for (const candidate of places.values()) requireInside(candidate);
  return [...places].map(([address, candidate]) => probe(withOffset(candidate), address + offset));
}

function noFunction(
  name: string,
  path: string,
  file: ProbeFile,
  source: string,
  at: number,
): EventSyntaxError {
  const like = readableNamesLike(file, name);
  const near = like.length > 0 ? like : nearestNames(name, file.functions.keys());
  const remedy =
    file.functions.size === 0
      ? `${printable(file.path)} has no names (stripped): give an address, ${path}:0x…`
      : '';
  return new EventSyntaxError(
    source,
    at,
    `${printable(file.path)} has no function ${name}${didYouMean(near)}`,
    remedy,
  );
}

function indirectFunction(name: string, file: ProbeFile, source: string, at: number): EventSyntaxError {
  const chosen = [...file.functions.keys()]
    .filter((other) => other.includes(name) && other !== name)
    .slice(0, 4);
  return new EventSyntaxError(
    source,
    at,
    `${name} is chosen from several functions when the program starts (IFUNC)`,
    chosen.length === 0 ? '' : `Probe the chosen function: ${chosen.join(', ')}`,
  );
}

function resolveInKernel(
  { place, placeAt, isReturn }: ProbeText,
  { name, offset }: { name: string; offset: number },
  source: string,
  lookup: EventLookup,
): Probe {
  const functions = lookup.kernelFunctions?.() ?? new Set<string>();
  if (functions.size > 0 && !functions.has(name)) {
    const near = nearestNames(name, functions);
    throw new EventSyntaxError(source, placeAt, `the kernel has no function ${name}${didYouMean(near)}`);
  }
  return { kind: 'kprobe', target: name, offset: BigInt(offset), isReturn, symbol: place };
}

/** The PMU of a kind of probe; its own error where the kernel has none. */
export function probePmu(
  kind: Probe['kind'],
  source: string,
  at: number,
  lookup: EventLookup,
): PmuDescription {
  const pmu = lookup.pmu(kind);
  if (pmu !== null) return pmu;
  const option = kind === 'uprobe' ? 'CONFIG_UPROBE_EVENTS' : 'CONFIG_KPROBE_EVENTS';
  throw new EventSyntaxError(
    source,
    at,
    `this kernel has no PMU ${kind} (${option}, Linux 4.17 or later)`,
    kind === 'kprobe'
      ? 'Tracepoints often show the same: counterpoint list tracepoint'
      : 'Use Linux 4.17 or later.',
  );
}

/** `config` of a probe: the bit that asks for the return, where the kernel's format says it is. */
export function probeConfig(pmu: PmuDescription, { isReturn }: Probe): bigint {
  if (!isReturn) return 0n;
  const format = parseFormat(pmu.formats.get('retprobe') ?? 'config:0');
  return placeBits(format ?? { field: 'config', bits: [0] }, 1n).word;
}
