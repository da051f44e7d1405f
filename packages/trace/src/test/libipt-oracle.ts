import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('libipt-oracle.c', import.meta.url));

/** Bytes of a file that are in memory. */
export interface OracleCode {
  path: string;
  offset: number;
  sizeBytes: number;
  address: bigint;
}

export interface OracleResult {
  instructions: number;
  hash: number;
  errors: number;
  firstError: number;
  firstCode: string;
  overflows: number;
  lastTsc: number;
}

/** libipt's instruction decoder behind a small program. */
export class LibiptOracle {
  readonly #folder: string;

  /** A text that says why not, where gcc or libipt is not there. */
  static open(): LibiptOracle | string {
    const folder = mkdtempSync(join(tmpdir(), 'counterpoint-libipt-'));
    try {
      execFileSync('gcc', ['-O2', '-o', join(folder, 'oracle'), SOURCE, '-lipt'], { stdio: 'pipe' });
      return new LibiptOracle(folder);
    } catch (error) {
      rmSync(folder, { recursive: true });
      const { stderr } = error as { stderr?: Uint8Array };
      const why = stderr === undefined ? String(error) : new TextDecoder().decode(stderr);
      return `gcc or libipt-dev is not installed: ${why.split('\n')[0]}`;
    }
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  decode(trace: Uint8Array, code: readonly OracleCode[]): OracleResult {
    const path = join(this.#folder, 'trace.pt');
    writeFileSync(path, trace);
    const words = code.flatMap((one) => [one.path, `${one.offset}`, `${one.sizeBytes}`, `${one.address}`]);
    return JSON.parse(execFileSync(join(this.#folder, 'oracle'), [path, ...words], { encoding: 'utf8' }));
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
