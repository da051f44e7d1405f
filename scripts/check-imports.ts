/**
 * The import fence: a room imports rooms above it, never one below; `core` is imported by package name; only
 * `sys` sees the FFI library. The table is the architecture; change it with a reason.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { globSync } from './glob.ts';

const CORE: Record<string, string[]> = {
  base: [],
  abi: [],
  loss: ['base'],
  records: ['base', 'abi'],
  events: ['base', 'abi', 'records'],
  pmus: ['base', 'abi'],
  ring: ['base', 'abi', 'records'],
  perfdata: ['base', 'abi', 'loss', 'records', 'events'],
  counts: ['base', 'abi', 'records', 'perfdata'],
  elf: ['base'],
  jit: ['base'],
  machine: ['base', 'abi', 'records'],
  aux: ['base', 'abi', 'records'],
  symbols: ['base', 'elf', 'jit'],
  profile: ['base', 'loss'],
  trace: ['base', 'abi', 'records', 'elf', 'jit', 'machine', 'symbols', 'profile', 'loss'],
  itrace: [
    'base',
    'abi',
    'loss',
    'records',
    'events',
    'jit',
    'perfdata',
    'machine',
    'aux',
    'symbols',
    'profile',
    'trace',
  ],
  ingest: ['base', 'abi', 'loss', 'records', 'perfdata', 'jit', 'machine', 'symbols', 'profile'],
  query: ['base', 'abi', 'loss', 'records', 'perfdata', 'jit', 'symbols', 'profile', 'ingest'],
  export: ['base', 'jit', 'loss', 'profile', 'query'],
};

const NODE: Record<string, string[]> = {
  files: [],
  sys: [],
  options: [],
  probe: ['sys'],
  target: ['sys', 'probe', 'options'],
  pmu: ['files', 'sys', 'probe', 'options'],
  session: ['sys', 'probe', 'target', 'pmu'],
  counting: ['files', 'sys', 'options', 'probe', 'target', 'pmu', 'session'],
  bpf: ['sys', 'probe'],
  'machine-code': [],
  'self-monitoring': ['sys', 'machine-code', 'options', 'probe', 'pmu', 'session'],
  reader: ['sys', 'machine-code', 'session'],
  sampling: ['sys', 'probe', 'target', 'pmu', 'session', 'bpf'],
  locate: ['sys', 'files'],
  record: ['files', 'sys', 'options', 'probe', 'target', 'pmu', 'session', 'reader', 'sampling', 'locate'],
  open: ['sys', 'options', 'locate'],
  trace: [],
  stat: ['sys', 'options', 'probe', 'target', 'pmu', 'session', 'counting'],
  entries: [
    'bpf',
    'counting',
    'open',
    'pmu',
    'record',
    'sampling',
    'self-monitoring',
    'session',
    'stat',
    'sys',
    'target',
    'trace',
  ],
  cli: [
    'files',
    'sys',
    'probe',
    'target',
    'pmu',
    'session',
    'counting',
    'stat',
    'reader',
    'sampling',
    'record',
    'locate',
    'open',
    'trace',
  ],
};

/** Packages a package may import at run time, and from where. */
const PACKAGES: Record<string, Record<string, string[]>> = {
  core: { fzstd: ['perfdata', 'elf'] },
  node: { koffi: ['sys'], '@swc/wasm-typescript': ['sampling'] },
};

const IMPORT = /(?:from\s+|import\s+|import\()\s*['"]([^'"]+)['"]/g;
const problems: string[] = [];

for (const [name, table] of [
  ['core', CORE],
  ['node', NODE],
] as const) {
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
    if (other === room || table[room]?.includes(other)) return null;
    return `"${room}" may not import "${other}" (${target})`;
  }
  if (name === 'node' && (target.startsWith('node:') || target.startsWith('@counterpoint/core'))) return null;
  const rooms = PACKAGES[name]?.[target];
  if (rooms === undefined) return `imports "${target}", which is not in the package table`;
  return room !== null && rooms.includes(room) ? null : `only ${rooms.join(', ')} may import "${target}"`;
}

if (problems.length > 0) {
  console.error(`Import fence:\n${problems.map((line) => `  ${line}`).join('\n')}`);
  process.exit(1);
}
