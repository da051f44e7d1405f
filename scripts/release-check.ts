/**
 * `npm run release:check`: what must be so before the packages are published (RELEASING.md). It prints each
 * reason why not, and fails.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly repository?: unknown;
  readonly homepage?: unknown;
  readonly bugs?: unknown;
}

/**
 * One version for all packages, where npm's provenance says that they come from, and where people find more.
 */
export function manifestProblems(manifests: readonly Manifest[]): string[] {
  const version = manifests[0]!.version;
  const names = new Set(manifests.map(({ name }) => name));
  return manifests.flatMap((manifest) => [
    ...(manifest.version === version
      ? []
      : [`${manifest.name} has version ${manifest.version}, ${manifests[0]!.name} has ${version}`]),
    ...Object.entries(manifest.dependencies ?? {})
      .filter(([name, wanted]) => names.has(name) && wanted !== version)
      .map(([name, wanted]) => `${manifest.name} depends on ${name} ${wanted}, not on ${version}`),
    ...(manifest.repository === undefined
      ? [`${manifest.name} has no "repository": npm refuses provenance without it`]
      : []),
    ...(['homepage', 'bugs'] as const)
      .filter((field) => manifest[field] === undefined)
      .map((field) => `${manifest.name} has no "${field}": its page on npmjs.com leads nowhere`),
  ]);
}

/** The version needs a section with at least one entry. */
export function changelogProblems(changelog: string, version: string): string[] {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  if (section === undefined) return [`CHANGELOG.md has no section "## ${version}"`];
  return /^- /m.test(section) ? [] : [`CHANGELOG.md: the section of ${version} is empty`];
}

function problems(root: string): string[] {
  const manifests: Manifest[] = readdirSync(join(root, 'packages')).map((folder) =>
    JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')),
  );
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }).trim();
  return [
    ...manifestProblems(manifests),
    ...changelogProblems(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), manifests[0]!.version),
    ...(changes === '' ? [] : [`The working tree has changes that are not committed:\n${changes}`]),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = problems(fileURLToPath(new URL('..', import.meta.url)));
  for (const line of found) console.error(`Not ready for a release: ${line}`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
