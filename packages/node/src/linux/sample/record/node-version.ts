import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

const VERSION_TIMEOUT_MS = 5000;

/**
 * The major version of a Node. Its header says so where it stands beside the program; to start it
 * takes far longer. Infinity: nobody knows.
 */
export function majorOfNode(program: string): number {
  return fromHeader(program) ?? fromProgram(program);
}

function fromHeader(program: string): number | null {
  try {
    const folder = dirname(dirname(realpathSync(program)));
    const text = readFileSync(join(folder, 'include/node/node_version.h'), 'latin1');
    return Number(/^#define NODE_MAJOR_VERSION (\d+)/m.exec(text)?.[1] ?? Number.NaN) || null;
  } catch {
    return null;
  }
}

function fromProgram(program: string): number {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: VERSION_TIMEOUT_MS });
  return Number(/^v(\d+)\./.exec(stdout ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
}
