import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { CounterpointError } from '@counterpoint/core/base';
import { ROWS_FD, type TracerAnswer, type TracerOrder } from './messages.ts';
import type { SoftCounts } from './soft-counts.ts';

export interface TracerResult {
  counts: SoftCounts;
  /** Instructions of `counts` that were executed in single steps. */
  stepped: number;
}

/** A tracer that runs in a process of its own. */
export interface Tracer {
  readonly pid: number;
  /** When all targets have ended, or after `stop`. */
  readonly done: Promise<TracerResult>;
  /** Rows, where the order wants some: the tracer waits for whoever reads them. */
  readonly rows: Readable | null;
  /** Let the targets go on, untraced. */
  stop(): void;
}

/** Resolves when all `tids` are attached. */
export async function startTracer(order: Omit<TracerOrder, 'parentPid'>): Promise<Tracer> {
  const child = startProcess({ ...order, parentPid: process.pid });
  const answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const next = async (): Promise<TracerAnswer> => {
    const { value, done } = await answers.next();
    if (done === true) throw endedEarly(errors);
    const answer = JSON.parse(value) as TracerAnswer;
    if (answer.type === 'failed') throw new CounterpointError(answer.code, answer.message, answer.remedy);
    return answer;
  };
  await next();
  const done = next().then((answer) => {
    if (answer.type !== 'done') throw endedEarly(errors);
    return { counts: answer.counts, stepped: answer.stepped };
  });
  // Whoever asks gets it; it is no fault of the program that nobody has asked yet.
  done.catch(() => {});
  const rows = (child.stdio[ROWS_FD] ?? null) as Readable | null;
  return { pid: child.pid!, done, rows, stop: () => void child.stdin!.write('stop\n') };
}

function endedEarly(errors: string): CounterpointError {
  const why = errors.trim().split('\n').at(-1) ?? '';
  return new CounterpointError(
    'ERR_TRACER',
    `the process that steps the target has ended early${why === '' ? '' : `: ${why}`}`,
    'The target has ended with it: the kernel leaves it in single steps. Run it again.',
  );
}

function hasRows({ samples, tracing }: TracerOrder): boolean {
  return samples !== undefined || (tracing ?? null) !== null;
}

function startProcess(order: TracerOrder): ChildProcess {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...env } = process.env;
  const { path, execArgv } = tracerProgram();
  const child = spawn(process.execPath, [...execArgv, path, JSON.stringify(order)], {
    env,
    stdio: ['pipe', 'pipe', 'pipe', ...(hasRows(order) ? (['pipe'] as const) : [])],
  });
  child.stdin!.on('error', () => {});
  return child;
}

function tracerProgram(): { path: string; execArgv: string[] } {
  const here = import.meta.url;
  if (here.endsWith('.ts'))
    return {
      path: fileURLToPath(new URL('./tracer-main.ts', here)),
      execArgv: ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source'],
    };
  // In the bundle this code is in a file at the top, or in one of the chunks.
  const place = /\/chunks\/[^/]+$/.test(here) ? '../soft-tracer.js' : './soft-tracer.js';
  return { path: fileURLToPath(new URL(place, here)), execArgv: [] };
}
