/**
 * What functions of formats throw: told with the format, and with the line of its
 * module where the stack has one.
 */
import { fileURLToPath } from 'node:url';
import { CounterpointError } from '@counterpoint/core/base';
import { AssemblerError, formatSourceLine, type SourceLine } from '../../kernel/bpf/index.ts';
import type { FormatPlan, FormatTarget, SamplingFormat } from './format.ts';

/** This package: its sources, or what is made of them. */
const OWN_FOLDER = fileURLToPath(import.meta.url).replace(/[/\\](?:src|dist)[/\\].*$/, '');
const OWN_FILES = /^[/\\](?:src|dist)[/\\]/;
const OWN_FORMATS = /^[/\\](?:src[/\\]linux[/\\]sample[/\\]formats[/\\]built-in|dist)[/\\]/;
/** `at name (file:line:column)` or `at file:line:column`; of syntax errors the first line, `file:line`. */
const FRAME = /(?:^|\(|at (?:async )?)((?:file:\/\/)?\/[^()]*?):(\d+)(?::(\d+))?\)?$/;

/** Formats of users by their modules, to be named where no line can be. */
const MODULES = new WeakMap<SamplingFormat, string>();

export function rememberModule(format: SamplingFormat, path: string): void {
  MODULES.set(format, path);
}

/** `./mine.ts: the sampling format mine`; with a line in place of the module where one is known. */
export function formatText(format: SamplingFormat, line: SourceLine | null = null): string {
  const isUsers = line !== null && !isOwn(line.file, OWN_FILES);
  const place = isUsers ? formatSourceLine(line) : MODULES.get(format);
  return `${place === undefined ? '' : `${place}: `}the sampling format ${format.name}`;
}

function isOwn(file: string, files: RegExp): boolean {
  return file.startsWith(OWN_FOLDER) && files.test(file.slice(OWN_FOLDER.length));
}

/** The innermost line of somebody else's module; null if there is none. */
export function placeOf(error: unknown): string | null {
  const stack = error instanceof Error ? error.stack : undefined;
  // Whoever sets Error.prepareStackTrace may answer something that is not text.
  if (typeof stack !== 'string') return null;
  for (const text of stack.split('\n')) {
    const [, place, line, column] = FRAME.exec(text.trim()) ?? [];
    if (place === undefined) continue;
    const file = place.startsWith('file://') ? fileURLToPath(place) : place;
    if (isOwn(file, OWN_FILES) || file.includes('/node_modules/')) continue;
    if (column === undefined) return `${file}:${line}`;
    return formatSourceLine({ file, line: Number(line), column: Number(column) });
  }
  return null;
}

/** A line of a format that is there already says nothing to who uses it. */
function isOfOwnFormat(line: SourceLine | null): boolean {
  return line !== null && isOwn(line.file, OWN_FORMATS);
}

/** `did`: what it did then, as in `threw while it was planned`. What is ours to say stays as it is. */
export function explainThrown(
  { name }: SamplingFormat,
  error: unknown,
  { code, did, remedy }: { readonly code: string; readonly did: string; readonly remedy: string },
): unknown {
  if (error instanceof AssemblerError && isOfOwnFormat(error.line)) return error.withoutLine();
  if (error instanceof CounterpointError) return error;
  const thrown = error instanceof Error ? error.message : String(error);
  const place = placeOf(error);
  const explained = new CounterpointError(
    code,
    `${place === null ? '' : `${place}: `}the sampling format ${name} ${did}: ${thrown}`,
    remedy,
  );
  explained.cause = error;
  return explained;
}

/** What its maps and programs may be refused for, without a line of its module. */
const OF_THE_FORMAT: ReadonlySet<string> = new Set([
  'ERR_BPF_MAP_CLASH',
  'ERR_BPF_MEMORY',
  'ERR_BPF_RING_SIZE',
  'ERR_BPF_TOO_LARGE',
]);

/** An error of the loader, which knows maps and programs, and not whose they are. */
export function explainLoading(format: SamplingFormat, error: unknown): unknown {
  if (error instanceof CounterpointError && error.code === 'ERR_BPF_RIGHTS')
    return withoutRights(format, error);
  if (!(error instanceof CounterpointError) || !OF_THE_FORMAT.has(error.code)) return error;
  const { code, message, remedy } = error;
  const explained = new CounterpointError(code, `${formatText(format)}: ${message}`, remedy);
  explained.cause = error;
  return explained;
}

/** Which map or program was refused first says nothing to who wants a recording. */
function withoutRights(format: SamplingFormat, error: CounterpointError): CounterpointError {
  const why = error.message.slice(error.message.indexOf(' is refused: ') + ' is refused: '.length);
  const explained = new CounterpointError(
    error.code,
    `${formatText(format)} runs a program in the kernel (eBPF), which this user may not load: ${why}`,
    `${error.remedy}\nWithout a format, counterpoint record uses the kernel's own records, which need no such right.`,
  );
  explained.cause = error;
  return explained;
}

/**
 * A function that writes instructions has written all of them when it returns. One that is async, or a
 * generator, has not; what it throws later is nobody's.
 */
export function refuseUnfinished(
  format: SamplingFormat,
  what: string,
  returned: unknown,
  line: SourceLine | null,
): void {
  const isAsync = returned instanceof Promise;
  if (isAsync) returned.catch(() => {});
  const isGenerator = Object.prototype.toString.call(returned).endsWith('Generator]');
  if (!isAsync && !isGenerator) return;
  throw new CounterpointError(
    'ERR_FORMAT_HANDLER',
    `${formatText(format, line)}: ${what} is ${isAsync ? 'an async' : 'a generator'} function, which it must not be`,
    'Its instructions are written while it is called. Await in the module or in collect.',
  );
}

/** What a format needs. Throws what says why it cannot be had. */
export function planOf(
  format: SamplingFormat,
  options: Readonly<Record<string, unknown>>,
  target: FormatTarget,
): FormatPlan {
  let plan: unknown;
  try {
    plan = format.plan(options as never, target);
  } catch (error) {
    throw explainThrown(format, error, {
      code: 'ERR_FORMAT_PLAN',
      did: 'threw in its plan()',
      remedy: 'Nothing was loaded.',
    });
  }
  if (plan instanceof Promise) plan.catch(() => {});
  else if (typeof plan === 'object' && plan !== null) return plan as FormatPlan;
  throw new CounterpointError(
    'ERR_FORMAT_PLAN',
    `the plan of the sampling format ${format.name} is ${plan instanceof Promise ? 'a promise' : String(plan)}, not an object`,
    'Return {} for an empty plan. A plan is made at once, without waiting.',
  );
}
