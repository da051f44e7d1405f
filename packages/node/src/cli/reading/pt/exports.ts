/**
 * What `pt profile -o` writes besides the formats of sampled profiles: these need single
 * instructions and the program itself.
 */
import { type Diagnostic, memorySource } from '@counterpoint/core/base';
import type { CodeImage } from '@counterpoint/trace/image';
import type { CodeFunctions, ExactProfile, ProgramFile } from '@counterpoint/trace/intel-pt';
import { UsageError } from '../../common/usage-error.ts';
import type { NamedCode } from './code.ts';

export interface PtExportInput {
  readonly profile: ExactProfile;
  readonly code: NamedCode;
  /** What `--elf` names. */
  readonly elfs: readonly { path: string; address: bigint | null }[];
  readonly functions: () => Promise<CodeFunctions>;
  readonly json: boolean;
  /** Tells a person what was left out. */
  readonly note: (text: string) => void;
}

export interface PtExport {
  readonly name: string;
  /** With their dots. */
  readonly endings: readonly string[];
  readonly description: string;
  chunks(input: PtExportInput): Promise<Iterable<string>>;
}

export const PT_EXPORTS: readonly PtExport[] = [
  {
    name: 'lcov',
    endings: ['.info', '.lcov'],
    description: 'lines, functions and branches of the source code, for genhtml and others (needs -g)',
    chunks: lcovChunks,
  },
  {
    name: 'functions',
    endings: ['.functions'],
    description: 'how much of each function was executed (needs symbols only)',
    chunks: functionChunks,
  },
  {
    name: 'autofdo',
    endings: ['.autofdo'],
    description: 'for create_llvm_prof and create_gcov, with --profiler=text',
    chunks: autofdoChunks,
  },
  {
    name: 'branches',
    endings: ['.branches', '.branches.json'],
    description:
      'every branch, taken and not taken, with its targets; JSON if the name ends in .json, or with --json',
    chunks: branchChunks,
  },
];

/** The export of that name, or of a file of that name; undefined where it is none of these. */
export function findPtExport(nameOrFile: string): PtExport | undefined {
  return PT_EXPORTS.find(
    ({ name, endings }) => name === nameOrFile || endings.some((ending) => nameOrFile.endsWith(ending)),
  );
}

async function openPrograms({ code, elfs, note }: PtExportInput, format: string): Promise<ProgramFile[]> {
  if (elfs.length === 0)
    throw new UsageError(
      `${format} needs the program, but no --elf is given`,
      'Give the program and its load address: --elf ./program:0x555555554000. Raw code has neither symbols nor lines.',
    );
  const { openProgramFile } = await import('@counterpoint/trace/intel-pt');
  const { diskDriver } = await import('../../../host/locate/index.ts');
  const driver = diskDriver();
  const diagnostics: Diagnostic[] = [];
  const files: ProgramFile[] = [];
  for (const { path, address } of elfs)
    files.push(
      await openProgramFile(memorySource(code.file(path)), { name: path, address }, driver, diagnostics),
    );
  for (const { path, detail, remedy } of diagnostics) note(`${path}: ${detail}. ${remedy}`.trimEnd());
  return files;
}

async function lcovChunks(input: PtExportInput): Promise<Iterable<string>> {
  const { sourceCoverage, writeLcov } = await import('@counterpoint/trace/intel-pt');
  const files = await openPrograms(input, 'lcov');
  const withLines = files.filter(({ lines }) => lines !== null);
  // Refuses, and says what to do, where nothing has lines.
  const used = withLines.length === 0 ? files.slice(0, 1) : withLines;
  for (const { name } of withLines.length === 0 ? [] : files.filter(({ lines }) => lines === null))
    input.note(`${name} has no lines of source code (no -g, no debug file): it is left out.`);
  return writeLcov(used.flatMap((file) => sourceCoverage(input.profile, input.code.image, file)));
}

async function functionChunks(input: PtExportInput): Promise<Iterable<string>> {
  const { FileCounts, functionCoverage, writeFunctionCoverage } = await import(
    '@counterpoint/trace/intel-pt'
  );
  const files = await openPrograms(input, 'functions');
  const image: CodeImage = input.code.image;
  return files.flatMap((file) => {
    const counts = new FileCounts(input.profile, file);
    const functions = functionCoverage(counts, image);
    if (functions.length === 0)
      input.note(
        `${file.name} has no symbols. Install its debug symbols (-dbgsym package), or use an unstripped program.`,
      );
    return [...writeFunctionCoverage(counts, functions)];
  });
}

async function autofdoChunks(input: PtExportInput): Promise<Iterable<string>> {
  const { writeAutofdo } = await import('@counterpoint/trace/intel-pt');
  const files = await openPrograms(input, 'autofdo');
  const file = files[0]!;
  if (files.length > 1)
    input.note(`An AutoFDO profile is for one binary: this profile is for ${file.name}, the first --elf.`);
  return writeAutofdo(input.profile, file);
}

async function branchChunks({ profile, functions, json }: PtExportInput): Promise<Iterable<string>> {
  const { branchList, writeBranchJson, writeBranchText } = await import('@counterpoint/trace/intel-pt');
  const known = await functions();
  const write = json ? writeBranchJson : writeBranchText;
  return write(branchList(profile), (lo, hi) => known.nameOf(lo, hi));
}
