/**
 * Whose line asked for an instruction: the innermost frame of the stack that is not the assembler's own. A stack is taken
 * per instruction and turned into text only when somebody wants to know: V8 formats it on the first look, and maps lines back
 * to TypeScript where the process loaded its modules with source maps (tsx, or --enable-source-maps).
 */
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourceLine } from './program.ts';

/** A stack taken, not yet read. */
export interface CallSite {
  stack?: unknown;
  /** Once it is read. */
  line?: SourceLine | null;
}

/** Our own frames between a caller and the instruction, and then some. */
const FRAMES = 24;

/** Where this room is a folder, its files are not callers; in a bundle only what is called on the assembler is known as ours. */
const HERE = dirname(fileURLToPath(import.meta.url)) + sep;
const OWN_FOLDER = HERE.endsWith(`${sep}bpf${sep}`) ? HERE : null;
const OWN_FRAME = /^(?:new |async )*_?(?:BpfAssembler|InstructionAssembler|ProgramWriter|StackFrame)\b/;
/** `at name (place:line:column)` or `at place:line:column`. */
const FRAME = /^\s*at (?:(.*?) \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*|[^()\s]+):(\d+):(\d+)\)?$/;

export function takeCallSite(): CallSite {
  const site: CallSite = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  Error.captureStackTrace(site, takeCallSite);
  Error.stackTraceLimit = limit;
  return site;
}

/** The caller's line; null where the stack does not tell. */
export function readCallSite(site: CallSite): SourceLine | null {
  site.line ??= findCaller(site.stack);
  return site.line;
}

function findCaller(stack: unknown): SourceLine | null {
  // Whoever sets Error.prepareStackTrace may answer something that is not text.
  if (typeof stack !== 'string') return null;
  for (const text of stack.split('\n')) {
    const frame = FRAME.exec(text);
    if (frame === null) continue;
    const [, name = '', place = '', line, column] = frame;
    if (place.startsWith('node:')) continue;
    const file = place.startsWith('file://') ? fileURLToPath(place) : place;
    if (isOwn(name, file)) continue;
    return { file, line: Number(line), column: Number(column) };
  }
  return null;
}

function isOwn(name: string, file: string): boolean {
  if (OWN_FRAME.test(name)) return true;
  return OWN_FOLDER !== null && file.startsWith(OWN_FOLDER) && !/\.test\.[jt]s$/.test(file);
}
