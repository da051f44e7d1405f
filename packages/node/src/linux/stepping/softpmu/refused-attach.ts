import { readFileSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';

type ReadText = (path: string) => string | null;

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Why the kernel did not let us trace `tid`, with what helps. `error` is what it said itself. */
export function refusedAttach(
  tid: number,
  error: CounterpointError,
  read: ReadText = readText,
): CounterpointError {
  if (error.code === 'ESRCH')
    return new CounterpointError(
      'ERR_NO_PROCESS',
      `there is no process or thread ${tid}`,
      'Check its number: ps -eL.',
    );
  if (error.code !== 'EPERM') return error;
  const tracer = /^TracerPid:\s*([1-9]\d*)/m.exec(read(`/proc/${tid}/status`) ?? '')?.[1];
  if (tracer !== undefined) {
    const name = read(`/proc/${tracer}/comm`)?.trim() ?? 'a process that is gone';
    return new CounterpointError(
      'ERR_TRACED_ALREADY',
      `${tid} is traced already, by '${name}' (process ${tracer}): a thread has one tracer at most`,
      'End that tracer (gdb, strace), or count a new run of the program.',
    );
  }
  const scope = read('/proc/sys/kernel/yama/ptrace_scope')?.trim() ?? null;
  const yama = scope === null || scope === '0' ? '' : ` (kernel.yama.ptrace_scope is ${scope})`;
  const remedy =
    scope === '3'
      ? 'With ptrace_scope 3 nobody may trace until the next boot.'
      : scope === '1' || scope === '2'
        ? 'Run it as root, give CAP_SYS_PTRACE, or allow it: sudo sysctl kernel.yama.ptrace_scope=0'
        : 'Trace programs of your own, run it as root, or give CAP_SYS_PTRACE; in a container, allow ptrace.';
  return new CounterpointError('ERR_PTRACE_PERMISSION', `this user may not trace ${tid}${yama}`, remedy);
}
