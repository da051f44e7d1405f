/** The import fence: what a source may not import, by the table of `floors.ts`. */
import { dirname, join, relative } from 'node:path';
import { FLOORS, type Floor, OURS, PACKAGES } from './floors.ts';

const IMPORT = /(?:from\s+|import\s+|import\()\s*['"]([^'"]+)['"]/g;
const TEST = /\.(?:test|fuzz|pmu)\.ts$|^test\//;

interface Place {
  readonly floor: Floor;
  /** Null: the floor is one room. */
  readonly room: string | null;
}

/** Permissions that some file needs, as `core: format on base`. */
type Used = Set<string>;

/** All that is wrong with the imports of these sources, by their paths below the repository. */
export function fenceProblems(sources: ReadonlyMap<string, string>): string[] {
  const used: Used = new Set();
  const problems = Object.keys(FLOORS).flatMap((name) => {
    const root = `packages/${name}/src`;
    return [...sources].flatMap(([path, text]) =>
      path.startsWith(`${root}/`) ? problemsOf(name, root, path, text, used) : [],
    );
  });
  return [...new Set([...orderProblems(), ...problems, ...needlessLines(used)])];
}

function problemsOf(name: string, root: string, path: string, text: string, used: Used): string[] {
  const inside = relative(root, path);
  // Declarations for all rooms.
  if (TEST.test(inside) || !inside.includes('/')) return [];
  const place = placeOf(name, inside);
  if (place === null) return [`${path}: its room is not in the table`];
  used.add(`${name}: ${place.floor.name} has ${place.room}`);
  return [...text.matchAll(IMPORT)].flatMap(([, target]) => {
    const why = target!.startsWith('.')
      ? refuseRoom(name, place, relative(root, join(dirname(path), target!)), target!, used)
      : refusePackage(name, place, target!, used);
    return why === null ? [] : [`${path}: ${why}`];
  });
}

function placeOf(name: string, inside: string): Place | null {
  const floors = FLOORS[name]!.filter((one) => inside.startsWith(`${one.name}/`));
  const [floor] = floors.toSorted((a, b) => b.name.length - a.name.length);
  if (floor === undefined) return null;
  if (floor.rooms.length === 0) return { floor, room: null };
  const [first = ''] = inside.slice(floor.name.length + 1).split('/');
  const room = first.replace(/\.ts$/, '');
  return floor.rooms.includes(room) ? { floor, room } : null;
}

function refuseRoom(name: string, from: Place, inside: string, target: string, used: Used): string | null {
  const to = placeOf(name, inside);
  if (to === null) return `imports "${target}", which is in no room`;
  if (to.floor === from.floor) {
    const { rooms } = from.floor;
    return rooms.indexOf(to.room!) <= rooms.indexOf(from.room!)
      ? null
      : `"${from.room}" stands before "${to.room}" on the floor ${to.floor.name} (${target})`;
  }
  used.add(`${name}: ${from.floor.name} on ${to.floor.name}`);
  if (from.floor.on.includes(to.floor.name)) return null;
  return `the floor ${from.floor.name} does not stand on ${to.floor.name} (${target})`;
}

function refusePackage(name: string, { floor, room }: Place, target: string, used: Used): string | null {
  if (name === 'node' && target.startsWith('node:')) return null;
  if (OURS[name]!.some((other) => target.startsWith(`${other}/`))) return null;
  const here = room === null ? floor.name : `${floor.name}/${room}`;
  const rooms = PACKAGES[name]?.[target];
  used.add(`${name}: ${here} imports ${target}`);
  if (rooms === undefined) return `imports "${target}", which is not in the package table`;
  return rooms.includes(here) ? null : `only ${rooms.join(', ')} may import "${target}"`;
}

/** A floor stands on floors above it in the table: so there are no circles. */
function orderProblems(): string[] {
  return Object.entries(FLOORS).flatMap(([name, floors]) =>
    floors.flatMap((floor, at) =>
      floor.on
        .filter((below) => !floors.slice(0, at).some((other) => other.name === below))
        .map((below) => `${name}: ${floor.name} stands on ${below}, which is not above it in the table`),
    ),
  );
}

function needlessLines(used: Used): string[] {
  const floors = Object.entries(FLOORS).flatMap(([name, all]) =>
    all.flatMap((floor) => [
      ...floor.on.map((below) => `${name}: ${floor.name} on ${below}`),
      ...floor.rooms.map((room) => `${name}: ${floor.name} has ${room}`),
    ]),
  );
  const packages = Object.entries(PACKAGES).flatMap(([name, all]) =>
    Object.entries(all).flatMap(([other, rooms]) => rooms.map((room) => `${name}: ${room} imports ${other}`)),
  );
  return [...floors, ...packages]
    .filter((line) => !used.has(line))
    .map((line) => `nothing needs "${line}": strike it from scripts/floors.ts`);
}
