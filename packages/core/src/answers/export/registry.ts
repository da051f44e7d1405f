import { checkText } from '../../base/index.ts';
import type { Profile } from '../../profile/tables/index.ts';
import { writeCpuProfile } from './cpuprofile/cpuprofile.ts';
import { writeFirefox } from './firefox/firefox.ts';
import { writeFlameSvg } from './flame/svg.ts';
import { writeFolded } from './folded.ts';
import type { ExportChunk, ExportOptions } from './options.ts';
import { writePprof } from './pprof/pprof.ts';
import { writeSpeedscope } from './speedscope.ts';
import { writeChromeTrace } from './timeline/chrome-trace.ts';
import { writePerfetto } from './timeline/perfetto.ts';

/** A file format that a profile can be written in. */
export interface ExportFormat {
  /** What a user types: `--format NAME`. */
  name: string;
  /** Without the leading dot. */
  extension: string;
  /** One line for `--help`. */
  description: string;
  /** It shows samples in time: an aggregated profile, whose rows have none, would lose that. */
  hasTimeline: boolean;
  /** It shows nothing but what was when: a profile without times comes out empty. */
  needsTimes?: true;
  /** Bytes that are no text. Text is UTF-8, and what a terminal would obey in names is escaped in it. */
  isBinary: boolean;
  /** The file in pieces, to be written one after the other. */
  write(profile: Profile, options?: ExportOptions): Iterable<ExportChunk> | AsyncIterable<ExportChunk>;
}

/**
 * Every format that a profile can be written in. Help and the choice by file name
 * come from this table.
 */
export const EXPORTS: readonly ExportFormat[] = [
  {
    name: 'svg',
    extension: 'svg',
    description: 'interactive flame graph in one file: search, zoom, tooltips',
    hasTimeline: false,
    isBinary: false,
    write: writeFlameSvg,
  },
  {
    name: 'folded',
    extension: 'folded',
    description: 'one line per stack with its count, for flamegraph.pl, inferno and others',
    hasTimeline: false,
    isBinary: false,
    write: writeFolded,
  },
  {
    name: 'speedscope',
    extension: 'speedscope.json',
    description: 'for speedscope.app: all threads together and each by itself',
    hasTimeline: true,
    isBinary: false,
    write: writeSpeedscope,
  },
  {
    name: 'pprof',
    extension: 'pb.gz',
    description: 'profile.proto for pprof and what reads it, with addresses and build ids',
    hasTimeline: false,
    isBinary: true,
    write: writePprof,
  },
  {
    name: 'firefox',
    extension: 'profile.json',
    description: 'for profiler.firefox.com: every sample on a timeline, losses as markers',
    hasTimeline: true,
    isBinary: false,
    write: writeFirefox,
  },
  {
    name: 'cpuprofile',
    extension: 'cpuprofile',
    description: 'for Chrome DevTools and VS Code: the timeline of one thread, as of `node --cpu-prof`',
    hasTimeline: true,
    isBinary: false,
    write: writeCpuProfile,
  },
  {
    name: 'perfetto',
    extension: 'pftrace',
    description: 'for ui.perfetto.dev: what each thread called, in time; exact with a hardware trace',
    hasTimeline: true,
    needsTimes: true,
    isBinary: true,
    write: writePerfetto,
  },
  {
    name: 'chrome',
    extension: 'trace.json',
    description: 'Trace Event Format, for chrome://tracing and others: the same as JSON',
    hasTimeline: true,
    needsTimes: true,
    isBinary: false,
    write: writeChromeTrace,
  },
];

/** What other tools say. */
const ALSO_CALLED: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ['flamegraph', 'svg'],
  ['collapsed', 'folded'],
]);

/**
 * The format of that name, or the one whose extension the file has (the longest that
 * fits); undefined where none does.
 */
export function findExport(nameOrFile: string): ExportFormat | undefined {
  checkText('findExport()', 'the name of the format or file', nameOrFile);
  const byName = EXPORTS.find(({ name }) => name === (ALSO_CALLED.get(nameOrFile) ?? nameOrFile));
  if (byName !== undefined) return byName;
  return EXPORTS.filter((format) => nameOrFile.endsWith(`.${format.extension}`)).sort(
    (a, b) => b.extension.length - a.extension.length,
  )[0];
}
