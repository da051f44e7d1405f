/**
 * The import fence: a room imports rooms above it, never one below; another package is imported by its
 * name; only `sys` sees the FFI library. The table is the architecture; change it with a reason. It has no
 * permission that nothing needs.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { globSync } from './glob.ts';
import { readersThatCallTheKernel } from './reading-fence.ts';

const CORE: Record<string, string[]> = {
  base: [],
  abi: [],
  loss: ['base', 'abi'],
  records: ['base', 'abi'],
  branches: ['base', 'abi', 'records'],
  events: ['base', 'abi', 'records', 'branches'],
  pmus: ['base', 'abi'],
  ring: ['base', 'abi', 'records'],
  perfdata: ['base', 'abi', 'loss', 'records', 'events'],
  counts: ['base', 'abi', 'records', 'perfdata'],
  history: ['base', 'abi', 'loss', 'records', 'events', 'perfdata'],
  elf: ['base'],
  jit: ['base'],
  machine: ['base', 'abi', 'records'],
  symbols: ['base', 'elf', 'jit'],
  'source-maps': ['base'],
  archive: ['base', 'symbols'],
  unwind: ['base', 'abi', 'loss', 'records', 'perfdata', 'elf', 'jit', 'machine', 'symbols'],
  profile: ['base', 'loss'],
  ingest: [
    'base',
    'abi',
    'elf',
    'records',
    'branches',
    'perfdata',
    'jit',
    'machine',
    'symbols',
    'source-maps',
    'profile',
  ],
  javascript: ['base', 'jit', 'profile'],
  query: [
    'base',
    'abi',
    'loss',
    'records',
    'branches',
    'perfdata',
    'jit',
    'machine',
    'symbols',
    'profile',
    'ingest',
    'javascript',
  ],
  export: ['base', 'jit', 'loss', 'profile', 'query'],
  entries: [
    'base',
    'abi',
    'loss',
    'records',
    'branches',
    'events',
    'pmus',
    'ring',
    'perfdata',
    'counts',
    'history',
    'elf',
    'jit',
    'machine',
    'symbols',
    'archive',
    'source-maps',
    'unwind',
    'profile',
    'ingest',
    'javascript',
    'query',
    'export',
  ],
};

const TRACE: Record<string, string[]> = {
  auxtrace: [],
  instructions: [],
  image: ['instructions'],
  'intel-pt': ['instructions', 'image'],
  perf: ['auxtrace', 'instructions', 'image', 'intel-pt'],
  entries: ['instructions', 'image', 'intel-pt', 'perf'],
};

const NODE: Record<string, string[]> = {
  files: [],
  leftovers: [],
  sys: [],
  options: [],
  probe: ['sys'],
  target: ['sys', 'options'],
  // Probes name functions of stripped programs, too: by their debug files.
  pmu: ['files', 'sys', 'probe', 'options', 'locate'],
  'perf-events': ['leftovers', 'sys', 'probe', 'target'],
  sources: ['pmu', 'perf-events'],
  counting: ['files', 'sys', 'options', 'probe', 'target', 'pmu', 'perf-events'],
  bpf: ['sys', 'options', 'probe'],
  'machine-code': [],
  'self-monitoring': ['sys', 'machine-code', 'options', 'probe', 'pmu', 'perf-events'],
  benchmarks: ['sys', 'options', 'self-monitoring'],
  reader: ['sys', 'machine-code', 'perf-events'],
  sampling: ['sys', 'probe', 'target', 'pmu', 'perf-events', 'bpf', 'locate'],
  locate: ['files'],
  'build-id-cache': ['locate'],
  javascript: ['files', 'target'],
  record: [
    'files',
    'sys',
    'options',
    'probe',
    'target',
    'pmu',
    'perf-events',
    'reader',
    'sampling',
    'locate',
    'javascript',
    'softpmu',
    'sources',
  ],
  history: ['files', 'locate', 'options'],
  flight: [
    'files',
    'leftovers',
    'sys',
    'options',
    'bpf',
    'target',
    'perf-events',
    'reader',
    'record',
    'sampling',
    'history',
    'javascript',
  ],
  archive: ['leftovers', 'locate'],
  open: ['leftovers', 'options', 'locate', 'history', 'archive'],
  profiler: ['files', 'leftovers', 'sys', 'options', 'perf-events', 'record', 'open'],
  trace: [],
  stat: ['sys', 'options', 'target', 'perf-events', 'counting'],
  'code-cache': [],
  softpmu: ['sys', 'target', 'pmu', 'code-cache'],
  entries: [
    'benchmarks',
    'bpf',
    'counting',
    'flight',
    'history',
    'open',
    'pmu',
    'record',
    'sampling',
    'self-monitoring',
    'perf-events',
    'profiler',
    'stat',
    'sys',
    'target',
    'trace',
  ],
  cli: [
    'files',
    'leftovers',
    'sys',
    'probe',
    'target',
    'pmu',
    'perf-events',
    'counting',
    'stat',
    'softpmu',
    'sampling',
    'record',
    'flight',
    'history',
    'locate',
    'build-id-cache',
    'archive',
    'open',
    'trace',
  ],
};

const TABLES: Record<string, Record<string, string[]>> = { core: CORE, trace: TRACE, node: NODE };

/** Packages of ours that a package may import. No room of core knows a decoder of traces. */
const OURS: Record<string, string[]> = {
  core: [],
  trace: ['@counterpoint/core'],
  node: ['@counterpoint/core', '@counterpoint/trace'],
};

/** Packages a package may import at run time, and from where. */
const PACKAGES: Record<string, Record<string, string[]>> = {
  core: { fzstd: ['perfdata', 'elf'] },
  node: { koffi: ['sys'], '@swc/wasm-typescript': ['sampling'] },
};

const IMPORT = /(?:from\s+|import\s+|import\()\s*['"]([^'"]+)['"]/g;
const problems: string[] = readersThatCallTheKernel();
/** Permissions that some file needs, as `core: a b`. */
const used = new Set<string>();

for (const [name, table] of Object.entries(TABLES)) {
  const root = `packages/${name}/src`;
  for (const path of globSync([root], /\.ts$/)) {
    const inside = relative(root, path);
    const room = inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : null;
    const isTest = /\.(test|fuzz|pmu)\.ts$/.test(path) || room === 'test';
    if (room !== null && room !== 'test' && table[room] === undefined)
      problems.push(`${path}: the room "${room}" is not in the import table`);
    for (const [, target] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
      if (target === undefined || isTest) continue;
      const why = refuse(name, table, room, path, root, target);
      if (why !== null) problems.push(`${path}: ${why}`);
    }
  }
}

function refuse(
  name: string,
  table: Record<string, string[]>,
  room: string | null,
  path: string,
  root: string,
  target: string,
): string | null {
  if (target.startsWith('.')) {
    if (room === null) return null;
    const other = relative(root, join(dirname(path), target)).split('/')[0]!;
    used.add(`${name}: ${room} ${other}`);
    if (other === room || table[room]?.includes(other)) return null;
    return `"${room}" may not import "${other}" (${target})`;
  }
  if (name === 'node' && target.startsWith('node:')) return null;
  if (OURS[name]?.some((other) => target.startsWith(`${other}/`))) return null;
  const rooms = PACKAGES[name]?.[target];
  used.add(`${name}: ${room} ${target}`);
  if (rooms === undefined) return `imports "${target}", which is not in the package table`;
  return room !== null && rooms.includes(room) ? null : `only ${rooms.join(', ')} may import "${target}"`;
}

const allowed = [
  ...Object.entries(TABLES).flatMap(([name, table]) =>
    Object.entries(table).flatMap(([room, others]) => others.map((other) => `${name}: ${room} ${other}`)),
  ),
  ...Object.entries(PACKAGES).flatMap(([name, packages]) =>
    Object.entries(packages).flatMap(([other, rooms]) => rooms.map((room) => `${name}: ${room} ${other}`)),
  ),
];
for (const one of allowed.filter((one) => !used.has(one)))
  problems.push(`nothing needs the permission "${one}": strike it from the table`);

if (problems.length > 0) {
  console.error(`Import fence:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  process.exit(1);
}
