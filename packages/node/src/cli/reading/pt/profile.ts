import { printableJson } from '@counterpoint/core/base';
import type { ExportFormat } from '@counterpoint/core/export';
import type { CodeFunctions, ProfileAnswer, TraceProfile } from '@counterpoint/trace/intel-pt';
import { defineVerb, EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { UsageError } from '../../common/usage-error.ts';
import { addressFilter, elfFiles, namedCode, PT_CODE_OPTIONS, type PtCodeName } from './code.ts';
import type { PtExport, PtExportInput } from './exports.ts';
import { PT_SETTINGS_OPTIONS, type PtSettingsName, ptSettings } from './settings.ts';

type Name =
  | PtSettingsName
  | PtCodeName
  | 'coarse'
  | 'hash'
  | 'exact-only'
  | 'resync-on-error'
  | 'top'
  | 'output'
  | 'format'
  | 'json'
  | 'workers';

const OUTPUT = 'Output';
const DECODING = 'Decoding';
const DEFAULT_TOP = 10;
const MOST_WORKERS = 256;

export default defineVerb<Name>({
  name: 'pt profile',
  summary: 'count what a raw Intel PT trace executed, exactly',
  usage: '[options] FILE[:FROM[-TO]]',
  options: [
    { long: 'json', help: 'one JSON object', group: OUTPUT },
    {
      long: 'coarse',
      help: 'give a first picture within milliseconds, from packets alone: where execution was at synchronization points in parts of the trace',
      group: OUTPUT,
    },
    { long: 'hash', help: 'print a hash over all executed addresses in order (slower)', group: OUTPUT },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'write counts by function (folded, pprof, svg, speedscope, firefox, cpuprofile), coverage (.info: lcov), .autofdo or .branches; the name chooses the format; `-` for standard output',
      group: OUTPUT,
    },
    {
      long: 'format',
      short: 'f',
      value: 'NAME',
      help: 'the format (default: by the name); also lcov, functions, autofdo, branches',
      group: OUTPUT,
    },
    { long: 'top', value: 'N', help: `print the N hottest places (default ${DEFAULT_TOP})`, group: OUTPUT },
    {
      long: 'resync-on-error',
      help: 'after an error, go on at the next event that has an address instead of the next PSB',
      group: DECODING,
    },
    {
      long: 'exact-only',
      help: 'decode instruction by instruction: slow, to check the fast decoder',
      group: DECODING,
    },
    {
      long: 'workers',
      value: 'N',
      help: 'decode with N threads, at most one for each 2 MiB (default: one for a short trace, else one per CPU); the result is the same, except which addresses are left out of a trace with more than 4 million',
      group: DECODING,
    },
    ...PT_CODE_OPTIONS,
    ...PT_SETTINGS_OPTIONS,
  ],
  examples: [
    [
      'pt profile --raw code.bin:0x401000 trace.pt',
      'how many instructions, branches and calls, and where most of them are',
    ],
    ['pt profile --elf /bin/gzip:0x4000000000 --json trace.pt', 'the same for a program'],
    ['pt profile --coarse --elf ./program trace.pt', 'a first picture of a large trace, at once'],
    ['pt profile --elf ./program -o profile.pb.gz trace.pt', 'for pprof: every instruction as a sample'],
    ['pt profile --elf ./program -o coverage.info trace.pt', 'coverage of its sources, for genhtml'],
    ['pt profile --elf ./program -o program.autofdo trace.pt', 'for create_llvm_prof --profiler=text'],
    ['pt profile --elf ./program --format branches trace.pt', 'every branch, taken and not taken'],
    [
      'pt profile --raw code.bin:0x401000 --json --hash trace.pt',
      'with a hash that shows whether two decoders agree',
    ],
  ],
  async run({ args, out, err }) {
    const { AddressHash, profileAnswer, profileInParts, streamInstructions } = await import(
      '@counterpoint/trace/intel-pt'
    );
    const { isRecording, openFilePart, parseFilePart, TELLING_BYTES, whyNoTrace } = await import('./file.ts');
    const { startPartWorkers, workersFor } = await import('../../../host/trace-threads/index.ts');
    const { ProgressLine } = await import('../../common/progress.ts');
    const [file, ...more] = args.words;
    if (file === undefined) throw new UsageError('no trace is named');
    if (more.length > 0) throw new UsageError(`one trace at a time, not also ${more.join(' ')}`);
    const settings = ptSettings<Name>(args);
    const filter = addressFilter<Name>(args);
    const part = parseFilePart(file);
    await using source = await openFilePart(part);
    const workers = workersFor(source.size, args.number('workers', { min: 1, max: MOST_WORKERS }));
    const json = args.boolean('json');
    const top = args.number('top', { min: 0, max: 100_000 });
    if (args.boolean('coarse')) {
      for (const name of ['output', 'format', 'hash', 'exact-only', 'workers', 'resync-on-error'] as const)
        if (args.has(name))
          throw new UsageError(`--coarse does not decode, so ${args.shown(name)} has no effect`);
      const { namedFunctions } = await import('./functions.ts');
      const { printCoarse } = await import('./coarse.ts');
      const functions = await namedFunctions<Name>(args, await namedCode<Name>(args));
      return (await printCoarse(source, functions, { json, top }, out, err)) ? EXIT_OK : EXIT_FAILURE;
    }
    const output = args.string('output') ?? (args.string('format') === undefined ? undefined : '-');
    // A name that is wrong is said before a long trace is decoded.
    const format = output === undefined ? null : await chosenFormat(args.string('format') ?? output);
    // They start while the code is read.
    await using team = startPartWorkers(workers);
    const code = await namedCode<Name>(args);
    const { image } = code;
    if (settings.unknownCpu) err.line('counterpoint: the CPU is not known: no errata are applied.');
    using progress = new ProgressLine(err);
    const options = {
      errata: settings.errata,
      settings,
      filter,
      resume: args.boolean('resync-on-error'),
      exactOnly: args.boolean('exact-only'),
    };
    const found = await profileInParts(source, image, {
      ...options,
      onProgress: progress.listener(),
      workers: team.workers,
    });
    let addressHash: string | undefined;
    if (args.boolean('hash')) {
      const hash = new AddressHash();
      const onProgress = (done: number) =>
        progress.update(() => `hashing: ${Math.floor((done / source.size) * 100)}%`);
      streamInstructions(source.all(), image, { ...options, onProgress }, hash.add);
      addressHash = hash.toString();
    }
    const answer = profileAnswer(found, addressHash);
    const codes = new Set(answer.errors.map(({ code }) => code));
    const beginning = await source.read(0, TELLING_BYTES);
    const isUseless = codes.has('no-map') && found.totals.instructions === 0;
    const isElsewhere = isUseless && (args.has('raw') || args.has('elf'));
    const isNoTrace = source.size === 0 || codes.has('no-sync') || isRecording(beginning);
    if (isNoTrace) err.line(`counterpoint: ${whyNoTrace(beginning)}.`);
    else if (codes.has('no-map'))
      err.line(
        isElsewhere
          ? 'counterpoint: no address of the trace is in the given code: the code is of another program, or was loaded elsewhere (--elf FILE:ADDRESS).'
          : 'counterpoint: the trace leads to unknown code: name it with --raw or --elf.',
      );
    if (answer.leftOut !== undefined)
      err.line(
        `counterpoint: the trace names more addresses, or branches between them, than there is room for: ${answer.leftOut.instructions} instructions and the targets of ${answer.leftOut.edges} branches are only in the totals. A trace of real code names fewer: this one is damaged or artificial.`,
      );
    const functions = async () => {
      const { namedFunctions } = await import('./functions.ts');
      return await namedFunctions<Name>(args, code);
    };
    if (output !== undefined && format !== null) {
      const { formatBytes } = await import('../../common/human.ts');
      const written = await writeProfile(
        format,
        output,
        {
          profile: found.profile,
          code,
          elfs: elfFiles(args),
          functions,
          json: json || output.endsWith('.json'),
          note: (text) => err.line(`counterpoint: ${text}`),
        },
        found,
        out,
      );
      if (written !== null) {
        err.line(`Wrote ${output} (${format.name}, ${formatBytes(written)}).`);
        if (json) out.line(printableJson(answer));
      }
    } else if (json) out.line(printableJson(answer));
    else if (!isNoTrace)
      await printText(found, answer, { top: top ?? DEFAULT_TOP, functions: await functions() }, out);
    return isNoTrace || isUseless ? EXIT_FAILURE : EXIT_OK;
  },
});

async function chosenFormat(name: string): Promise<PtExport | ExportFormat> {
  if (name === '-') throw new UsageError('--format is needed when the output has no name');
  const { exportFormat } = await import('../../common/export-file.ts');
  const { findPtExport, PT_EXPORTS } = await import('./exports.ts');
  return (
    findPtExport(name) ??
    (await exportFormat(
      name,
      PT_EXPORTS.map((row) => ({ ...row, extension: row.endings[0]!.slice(1) })),
      false,
    ))
  );
}

/** Bytes that were written to a file, null for the output. */
async function writeProfile(
  format: PtExport | ExportFormat,
  output: string,
  input: PtExportInput,
  found: TraceProfile,
  out: Output,
): Promise<number | null> {
  const { writeChunks, writeExport } = await import('../../common/export-file.ts');
  if ('chunks' in format) return await writeChunks(await format.chunks(input), output, out);
  const { profileOfExact } = await import('@counterpoint/trace/intel-pt');
  const profile = profileOfExact(found.profile, await input.functions(), found);
  return await writeExport(profile, format, output, { event: 0, weight: 'period' }, out);
}

async function printText(
  found: TraceProfile,
  answer: ProfileAnswer,
  { top, functions }: { top: number; functions: CodeFunctions },
  out: Output,
): Promise<void> {
  const { hotRuns } = await import('@counterpoint/trace/intel-pt');
  const { errorWords } = await import('./error-words.ts');
  const { printable, toHex } = await import('@counterpoint/core/base');
  // Of code that is not known nothing was counted: what was wrong is all there is to say.
  const counted: [string, string][] = [
    ['instructions', answer.instructions],
    ['blocks', answer.blocks],
    ['branches', answer.branches],
    ['calls', answer.calls],
  ];
  const rows = answer.instructions === '0' ? [] : counted;
  const grouped = rows.map(([name, value]) => [name, BigInt(value).toLocaleString('en-US')] as const);
  const width = Math.max(1, ...grouped.map(([, value]) => value.length));
  for (const [name, value] of grouped) out.line(`${value.padStart(width)}  ${name}`);
  if (answer.addressHash !== undefined) out.line(`${answer.addressHash.padStart(width)}  address hash`);
  if (answer.overflows > 0)
    out.line(`${String(answer.overflows).padStart(width)}  overflows: packets were lost`);
  for (const { code, count, firstOffset } of answer.errors)
    out.line(
      `${String(count).padStart(width)}  ${errorWords(code)}, first at offset 0x${firstOffset.toString(16)}`,
    );
  const runs = hotRuns(found.profile, top);
  if (runs.length === 0) return;
  out.line('');
  out.line('   share  executed      instructions  from');
  const total = Number(answer.instructions);
  for (const { lo, hi, length, executed } of runs) {
    const name = functions.nameOf(lo, hi);
    out.line(
      `${((100 * length * executed) / total).toFixed(2).padStart(7)}%  ${String(executed).padEnd(12)}  ` +
        `${String(length).padEnd(12)}  0x${toHex(lo >>> 0, hi >>> 0)}${name === null ? '' : `  ${printable(name)}`}`,
    );
  }
}
