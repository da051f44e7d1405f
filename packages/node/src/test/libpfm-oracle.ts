import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('libpfm-oracle.c', import.meta.url));

/** What libpfm4 makes of one event, called from C. */
export interface PfmOracleRow {
  text: string;
  /**
   * pfm_get_os_event_encoding(): its code, and after success the CPU and the bytes of the
   * attr without trailing zeros.
   */
  perf: string[];
  /** pfm_get_event_encoding(): its code, and after success the hardware's words in hexadecimal. */
  raw: string[];
}

/**
 * Ask the library of this machine for each line of `texts`. Its answers depend on the
 * processor (the hypervisor's level is excluded on AMD, not on Intel), so they are not stored.
 * A text says why there is no answer.
 */
export function askLibPfm(texts: string): PfmOracleRow[] | string {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-libpfm-'));
  try {
    const program = join(folder, 'oracle');
    try {
      execFileSync('cc', ['-o', program, SOURCE, '-lpfm'], { stdio: 'pipe' });
    } catch (error) {
      const { stderr, message } = error as { stderr?: Uint8Array; message: string };
      const why = stderr === undefined || stderr.length === 0 ? message : new TextDecoder().decode(stderr);
      return `cc or libpfm4-dev is not installed: ${why.split('\n')[0]}`;
    }
    return rowsOf(execFileSync(program, { input: texts, encoding: 'utf8' }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Three lines an event: its text, `  perf …`, `  raw …`. */
function rowsOf(output: string): PfmOracleRow[] {
  const lines = output.split('\n').slice(0, -1);
  const rows: PfmOracleRow[] = [];
  for (let index = 0; index < lines.length; index += 3) {
    const [text = '', perf = '', raw = ''] = lines.slice(index, index + 3);
    rows.push({ text, perf: perf.trim().split(' ').slice(1), raw: raw.trim().split(' ').slice(1) });
  }
  return rows;
}
