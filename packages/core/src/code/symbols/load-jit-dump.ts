import { type Damage, type Diagnostic, FormatError } from '../../base/index.ts';
import { type JitCode, readJitCode } from '../jit/index.ts';
import type { SymbolDriver } from './driver.ts';

/** The jitdump of a process, as a recording names it. */
export interface WantedJitDump {
  /** The path that the process mapped. */
  path: string;
  pid: number;
  /** When the process began, in milliseconds since 1970; null: not known. */
  startMs: number | null;
  /** Its frame information is wanted, too. */
  frames: boolean;
}

/**
 * Code that a process dumped; null where there is no dump: `diagnostics` say why, and what is wrong in one.
 */
export async function loadJitDump(
  { path, pid, startMs, frames }: WantedJitDump,
  driver: SymbolDriver,
  diagnostics: Diagnostic[],
): Promise<JitCode | null> {
  const reported = diagnostics.length;
  const request = { need: 'jitdump', path, buildId: '', pid, required: true, startMs } as const;
  const file = await driver.open(request, diagnostics);
  if (file === null) {
    if (diagnostics.length === reported) diagnostics.push(missing(path, pid));
    return null;
  }
  try {
    const code = await readJitCode(file, { frames });
    if (code.damage.total > 0) diagnostics.push(damaged(path, code.damage.list()));
    return code;
  } catch (error) {
    const isHosts = error instanceof Error && 'code' in error && typeof error.code === 'string';
    if (!isHosts) throw error;
    const detail =
      error instanceof FormatError
        ? `it is no jitdump: ${error.message}`
        : `it cannot be read: ${error.message}`;
    diagnostics.push({ code: 'jitdump-damaged', path, detail, remedy: '' });
    return null;
  } finally {
    await file.close?.();
  }
}

function missing(path: string, pid: number): Diagnostic {
  return {
    code: 'no-jitdump',
    path,
    detail: `process ${pid} wrote there what code it made (a jitdump), and the file is not there`,
    remedy:
      'Keep it where the program wrote it. For a recording of another machine, copy it with its path below a directory, and give that: --symfs DIR.',
  };
}

const DAMAGE_TEXT: Readonly<Record<string, string>> = {
  'jitdump-record': 'records of code do not hold together',
  'jitdump-cut': 'its end is cut off, as of a program that was killed, or still runs',
  'jitdump-large': 'it is too large to be read whole',
};

function damaged(path: string, damage: readonly Damage[]): Diagnostic {
  const texts = damage.map(({ code }) => DAMAGE_TEXT[code] ?? code);
  const detail = `code that the process made may lack its name: ${texts.join('; ')}`;
  return { code: 'jitdump-damaged', path, detail, remedy: '' };
}
