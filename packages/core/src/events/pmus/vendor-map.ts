import type { CpuIdentity } from './types.ts';
import { ProblemList, type VendorProblem } from './vendor-types.ts';

/** A row of `mapfile.csv`: which table is for which CPUs. */
export interface MapRow {
  /**
   * `GenuineIntel-6-55-[01234]`, `AuthenticAMD-25-…`, `0x00000000410fd0c0`: an extended regular expression.
   */
  readonly pattern: string;
  /** Of the table: `V1.24`. */
  readonly version: string;
  /** Path of the table, counted from the folder of the collection. */
  readonly file: string;
  /** `core`, `uncore`, `hybridcore`, … */
  readonly type: string;
  /** `Core` or `Atom` on hybrid CPUs. */
  readonly role: string | null;
}

/** What `parseMapFile` read. */
export interface VendorMap {
  /** In the order of the file. */
  readonly rows: readonly MapRow[];
  /** The first hundred; `problemCount` has all. */
  readonly problems: readonly VendorProblem[];
  /** Number of lines that could not be read. */
  readonly problemCount: number;
}

const MOST_ROWS = 20_000;
const LONGEST_LINE = 1000;

/**
 * `mapfile.csv` of Intel's collection and of perf:
 *
 *   Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name
 *   GenuineIntel-6-9A,V1.24,/ADL/events/alderlake_goldencove_core.json,hybridcore,0x40,0x000001,Core
 */
export function parseMapFile(text: string, fileName: string): VendorMap {
  const rows: MapRow[] = [];
  const problems = new ProblemList();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const place = `${fileName}:${index + 1}`;
    if (line.trim() === '' || line.startsWith('#') || /^family-model,/i.test(line)) continue;
    if (rows.length >= MOST_ROWS) {
      problems.add(place, `more than ${MOST_ROWS} rows; the rest is not read`);
      break;
    }
    const cells = line
      .slice(0, LONGEST_LINE)
      .split(',')
      .map((cell) => cell.trim());
    const [pattern = '', version = '', file = '', type = '', , , role = ''] = cells;
    if (cells.length < 4 || file === '')
      problems.add(place, 'a row has at least CPU, version, file and type');
    else if (compilePattern(pattern) === null) problems.add(place, 'the CPU is not a valid pattern');
    else rows.push({ pattern, version, file, type, role: role === '' ? null : role });
  }
  return { rows, problems: problems.kept, problemCount: problems.total };
}

/** The rows for a CPU. */
export function matchMapFile(map: VendorMap, identity: CpuIdentity): readonly MapRow[] {
  const names = cpuNames(identity);
  return map.rows.filter(({ pattern, role }) => {
    const expression = compilePattern(pattern);
    const fits = names.some((name) => expression?.test(name) ?? false);
    return fits && (role === null || hybridRole(identity.pmu) === null || hybridRole(identity.pmu) === role);
  });
}

/**
 * The names that tables know a CPU by: x86 with and without its stepping; Arm's MIDR
 * without variant and revision.
 */
export function cpuNames({ vendor, family, model, stepping, midr }: CpuIdentity): string[] {
  if (midr !== null) return [`0x${((midr & 0xff0f_fff0) >>> 0).toString(16).padStart(16, '0')}`];
  if (vendor === null || family === null || model === null) return [];
  const short = `${vendor}-${family}-${model.toString(16).toUpperCase()}`;
  return stepping === null ? [short] : [short, `${short}-${stepping.toString(16).toUpperCase()}`];
}

function hybridRole(pmu: string): string | null {
  return pmu === 'cpu_core' ? 'Core' : pmu === 'cpu_atom' ? 'Atom' : null;
}

/**
 * Only what such tables use, so that no pattern can take long: at most three
 * repetitions, each of one character.
 */
function compilePattern(pattern: string): RegExp | null {
  const plain = pattern.replaceAll('[:digit:]', '0-9').replaceAll('[:xdigit:]', '0-9A-Fa-f');
  if (plain === '' || plain.length > 300 || !/^[\w\-[\]()|.+*]+$/.test(plain)) return null;
  if (/\)[+*]/.test(plain) || (plain.match(/[+*]/g)?.length ?? 0) > 3) return null;
  try {
    return new RegExp(`^(?:${plain})$`, 'i');
  } catch {
    return null;
  }
}
