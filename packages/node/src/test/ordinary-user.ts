/** Commands of an ordinary user, from tests that run as root. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLineProcess } from './command-line.ts';
import { removeLeftPerfMaps } from './perf-maps.ts';

export const NOBODY = 65534;
const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/**
 * Make a checkout in a folder that is closed to others (the home of root) reachable by its own path, for the
 * command alone: an open folder takes the place of the closed one, in a mount namespace.
 */
const OPEN_CHECKOUT = `
set -e
checkout=$1 closed=$2 held=$3 temporary=$4
shift 4
if [ -n "$closed" ]; then
  mount --bind "$checkout" "$held"
  mount -t tmpfs -o mode=755 tmpfs "$closed"
  mkdir -p "$checkout"
  mount --bind "$held" "$checkout"
fi
if [ -n "$temporary" ]; then
  case $checkout in
    /tmp/*)
      mkdir -p "$temporary/\${checkout#/tmp/}"
      mount --bind "$checkout" "$temporary/\${checkout#/tmp/}" ;;
  esac
  mount --rbind "$temporary" /tmp
fi
exec setpriv "$@"`;

export interface UserResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Run Node as nobody, with these capabilities, in a folder that nobody may write to. `temporary`: a folder
 * that stands in the place of /tmp.
 */
export function nodeAsNobody(
  words: readonly string[],
  folder: string,
  capabilities: readonly string[] = [],
  temporary = '',
): UserResult {
  chmodSync(folder, 0o777);
  removeLeftPerfMaps();
  const list = capabilities.map((name) => `+${name}`).join(',');
  const given = list === '' ? ['--inh-caps=-all'] : [`--inh-caps=${list}`, `--ambient-caps=${list}`];
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...given];
  const held = mkdtempSync(join(tmpdir(), 'counterpoint-checkout-'));
  const shell = ['sh', '-c', OPEN_CHECKOUT, 'sh', CHECKOUT, closedFolder() ?? '', held, temporary];
  const namespace = ['--mount', '--propagation', 'private', '--'];
  const { status, stdout, stderr, error } = spawnSync(
    'unshare',
    [...namespace, ...shell, ...user, process.execPath, ...words],
    { encoding: 'utf8', cwd: folder, env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder } },
  );
  rmSync(held, { recursive: true });
  return { status, stdout: stdout ?? '', stderr: error?.message ?? stderr };
}

/** Why nobody cannot run the command line here; false where they can. */
export function noNobody(): string | false {
  if (process.getuid?.() !== 0) return 'only root can run a command as another user';
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-nobody-'));
  const { status, stderr } = nodeAsNobody([...commandLineProcess(), 'version'], folder);
  rmSync(folder, { recursive: true });
  return status === 0 ? false : `nobody cannot run these sources: ${stderr.trim().split('\n')[0]}`;
}

/** The outermost folder of the checkout that others may not enter; null where they may enter all. */
function closedFolder(): string | null {
  const closed: string[] = [];
  for (let path = CHECKOUT; path !== '/'; path = dirname(path))
    if ((statSync(path).mode & 0o001) === 0) closed.unshift(path);
  return closed[0] ?? null;
}
