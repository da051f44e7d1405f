/** Every function and class that a program may import, called as programs without types call them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as core from '@counterpoint/core';
import { CounterpointError, shownValue } from '@counterpoint/core/base';
import { Profile } from '@counterpoint/core/profile';
import * as trace from '@counterpoint/trace';
import * as bpf from './entries/bpf.ts';
import * as counting from './entries/counting.ts';
import * as flight from './entries/flight.ts';
import * as formats from './entries/formats.ts';
import * as node from './entries/index.ts';
import { LoadedSet } from './linux/kernel/bpf/loader.ts';
import { BpfMap } from './linux/kernel/bpf/maps.ts';
import { BpfRingBuffer } from './linux/kernel/bpf/ring-buffer.ts';
import { FakeSys } from './linux/kernel/sys/fake-sys.ts';
import { Fd } from './linux/kernel/sys/index.ts';
import { nodeEntries, readReport } from './test/api-report.ts';

/**
 * What programs import, by the name of its report. All entries of this package: a new one comes by itself.
 */
const ENTRIES: Readonly<Record<string, object>> = {
  'core/index': core,
  'trace/index': trace,
  ...(await nodeEntries()),
};

/** First arguments that are right for nothing that is exported, but for what stands in `TAKES`. */
const WRONG: readonly (readonly unknown[])[] = [
  [],
  [null],
  [{}],
  [''],
  [5],
  [Number.NaN],
  [[]],
  [() => 1],
  [{ nmae: 5 }],
  [new Uint8Array(3)],
];

const RECORDING = fileURLToPath(new URL('../../../fixtures/perfdata/plain.data', import.meta.url));
const MAP = { name: 'wrong', type: 'array', keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 4 } as const;

const EVERYTHING = () => true;
const isNumber = ([one]: readonly unknown[]) => one === 5;
const isFunction = ([one]: readonly unknown[]) => typeof one === 'function';
const isNothing = (given: readonly unknown[]) => given.length === 0;
const isEmptyObject = ([one]: readonly unknown[]) => JSON.stringify(one) === '{}';
const hasInstructions = ([one]: readonly unknown[]) =>
  (one as { instructions?: unknown })?.instructions !== undefined;
const isBytes = ([one]: readonly unknown[]) => one instanceof Uint8Array;

/** What a function can make something of; it gives no error then. */
const TAKES: Readonly<Record<string, (given: readonly unknown[]) => boolean>> = {
  // An error is made of whatever there is to say.
  CounterpointError: EVERYTHING,
  FormatError: EVERYTHING,
  WriteError: EVERYTHING,
  // They begin empty.
  CodeFunctions: EVERYTHING,
  CodeImage: EVERYTHING,
  memorySource: isBytes,
  directorySource: (given) => Array.isArray(given[0]) || isBytes(given),
  findExport: ([name]) => name === '',
  lossTotals: ([ledger]) => Array.isArray(ledger),
  parseItrace: ([text]) => text === '',
  measure: ([fn]) => typeof fn === 'function',
  profile: ([fn]) => typeof fn === 'function',
  startProfile: (given) => isNothing(given) || isEmptyObject(given),
  // It is an iterable: what it records is looked into when it is iterated.
  recordLive: isEmptyObject,
  spreadOf: ([values]) => Array.isArray(values),
  // Numbers in, numbers out, for the inside of formats' programs.
  ...Object.fromEntries(
    ['bpfStruct', 'i8', 'i16', 'i32', 'indexKey', 'u8', 'u16', 'u32', 'u64'].map((name) => [
      name,
      EVERYTHING,
    ]),
  ),
  // The error of an assembled program: of whatever there is to say.
  AssemblerError: EVERYTHING,
  countsToJson: (given) => Array.isArray((given[0] as { sets?: unknown } | null | undefined)?.sets),
  loadPrograms: ([programs]) => Array.isArray(programs),
  disassemble: hasInstructions,
  formatListing: hasInstructions,
  // The list of CPUs, or of programs, may be absent.
  GlobalCounters: isNothing,
  controlData: isEmptyObject,
  listPublished: isNothing,
  planCounters: ([events]) => Array.isArray(events),
  readCpuIdentities: (given) => isNothing(given) || isEmptyObject(given),
  useEventTables: ([paths]) => paths === null || (Array.isArray(paths) && paths.length === 0) || paths === '',
  partWorkers: ([count]) => count === 5,
  workersFor: ([bytes]) => bytes === 5,
};

type Callable = (...given: unknown[]) => unknown;
type Constructor = new (...given: unknown[]) => unknown;

const isClass = (value: object) => /^class\b/.test(Function.prototype.toString.call(value));

/** Whether it throws, rejects, or does so as soon as it is iterated. */
async function errorOf(exported: object, given: readonly unknown[]): Promise<unknown> {
  try {
    const made = isClass(exported)
      ? new (exported as Constructor)(...given)
      : await (exported as Callable)(...given);
    if (typeof made !== 'object' || made === null) return null;
    if ('next' in made && typeof made.next === 'function') await made.next();
    if ('close' in made && typeof made.close === 'function') await made.close();
    return null;
  } catch (error) {
    return error;
  }
}

/** What is wrong with the answers of a function or method to wrong arguments. */
async function wrongAnswers(
  name: string,
  takes: ((given: readonly unknown[]) => boolean) | undefined,
  call: (given: readonly unknown[]) => Promise<unknown>,
): Promise<string[]> {
  const wrong: string[] = [];
  for (const given of WRONG) {
    if (takes?.(given) === true) continue;
    const error = await call(given);
    if (error instanceof CounterpointError && error.remedy !== '') continue;
    const said = error instanceof Error ? error.message : 'no error';
    wrong.push(`${name}(${given.map(shownValue).join()}): ${said}`);
  }
  return wrong;
}

for (const [entry, exported] of Object.entries(ENTRIES))
  test(`${entry}: what is called with nothing or with something wrong answers with an error of its own`, async () => {
    const withoutParameters = new Set(
      readReport(entry)
        .functions.filter(({ parameters }) => parameters.length === 0)
        .map(({ name }) => name),
    );
    const wrong: string[] = [];
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value !== 'function' || withoutParameters.has(name)) continue;
      wrong.push(...(await wrongAnswers(name, TAKES[name], (given) => errorOf(value, given))));
    }
    assert.deepEqual(wrong, []);
  });

/** Of what an object's class has, by class: made once. Null: programs never hold one. */
async function instances(): Promise<Record<string, object | null>> {
  const session = node.openCounting({ target: { kind: 'self' }, events: 'task-clock' });
  await session.publish({ name: 'wrong-arguments' });
  const assembler = new bpf.BpfAssembler({ name: 'wrong', type: 'perf-event' });
  const cpus = new counting.GlobalCounters([0], {}, new FakeSys());
  cpus.writeControl({ events: 'cs' });
  return {
    AssemblerError: null,
    VerifierError: null,
    BpfAssembler: assembler,
    InstructionAssembler: assembler,
    BlockAssembler: assembler,
    ContextAssembler: assembler,
    MapAssembler: assembler,
    // Parts of the assembler, for classes that extend it.
    ProgramWriter: null,
    StackFrame: null,
    BpfMap: new BpfMap(new FakeSys(), MAP, new Fd(-1, () => {}), 2),
    BpfRingBuffer: Object.create(BpfRingBuffer.prototype) as object,
    LoadedSet: new LoadedSet(new Map(), new Map(), [0]),
    Fd: new Fd(-1, () => {}),
    CountingSession: session,
    GlobalCounters: cpus,
    RemoteSession: await node.connect(process.pid, 'wrong-arguments'),
    Counters: node.counters('task-clock'),
    Recording: await node.openRecording(RECORDING),
    OwnProfile: await node.profile(() => 1),
    LiveProfile: Object.create(node.LiveProfile.prototype) as object,
    // What is wrong is found before anything of the recorder is looked at.
    FlightRecorder: Object.create(flight.FlightRecorder.prototype) as object,
  };
}

/** What a method can make something of, or what its own object refuses where it is a right one. */
const METHODS_TAKE: Readonly<Record<string, (given: readonly unknown[]) => boolean>> = {
  'BpfAssembler.onlyProcess': isNumber,
  'BpfAssembler.return': isNumber,
  'InstructionAssembler.callHelper': isNumber,
  'InstructionAssembler.callKernelFunction': isNumber,
  'ContextAssembler.saveContext': isNothing,
  // An iterator of all there is.
  'BpfMap.batches': EVERYTHING,
  'BpfMap.mapValues': EVERYTHING,
  'BpfMap.counter': isNumber,
  'BpfMap.counters': isNumber,
  'BpfRingBuffer.wait': isNumber,
  'BpfRingBuffer.watch': isFunction,
  'Fd.afterClose': isFunction,
  'FlightRecorder.dump': (given) => isNothing(given) || given[0] === '',
  'OwnProfile.functions': (given) => isNothing(given) || isNumber(given),
  ...Object.fromEntries(
    ['CountingSession', 'GlobalCounters', 'RemoteSession'].flatMap((name) => [
      [`${name}.next`, (given: readonly unknown[]) => given[0] === null || isNothing(given)],
      [`${name}.reset`, (given: readonly unknown[]) => isNothing(given) || Array.isArray(given[0])],
      [`${name}.publish`, (given: readonly unknown[]) => isNothing(given) || isEmptyObject(given)],
      ...['start', 'stop', 'resume', 'read', 'control'].map((method) => [
        `${name}.${method}`,
        (given: readonly unknown[]) => isNothing(given) || isEmptyObject(given),
      ]),
    ]),
  ),
  ...Object.fromEntries(
    ['eventLoops', 'profile', 'records', 'stats'].map((method) => [
      `Recording.${method}`,
      (given: readonly unknown[]) => isNothing(given) || isEmptyObject(given),
    ]),
  ),
};

test('methods of what the entries give answer with errors of their own, too', async (t) => {
  const known = await instances();
  t.after(() => {
    for (const one of Object.values(known))
      if (one !== null && 'close' in one && typeof one.close === 'function' && Object.keys(one).length > 0)
        one.close();
  });
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const entry of Object.keys(ENTRIES).filter((name) => name.startsWith('node/')))
    for (const { name, methods } of readReport(entry).classes) {
      if (methods.length === 0 || seen.has(name)) continue;
      seen.add(name);
      const one = known[name];
      if (one === undefined) wrong.push(`${entry} has a class ${name}: give this test one of it`);
      if (one === null || one === undefined) continue;
      for (const { name: method } of methods) {
        const call = async (given: readonly unknown[]) => {
          try {
            const made: unknown = await (Reflect.get(one, method) as Callable).apply(one, [...given]);
            if (typeof made === 'object' && made !== null && 'next' in made && isFunction([made.next]))
              await (made.next as Callable)();
            return null;
          } catch (error) {
            return error;
          }
        };
        wrong.push(...(await wrongAnswers(`${name}.${method}`, METHODS_TAKE[`${name}.${method}`], call)));
      }
    }
  assert.deepEqual(wrong, []);
});

const profiled = new Profile();
/** What is right before the options of a function, by its name. */
const BEFORE_OPTIONS: Readonly<Record<string, () => readonly unknown[] | Promise<readonly unknown[]>>> = {
  callTree: () => [profiled],
  topFunctions: () => [profiled],
  writeFirefox: () => [profiled],
  writeFlameSvg: () => [profiled],
  writeFolded: () => [profiled],
  writePprof: () => [profiled],
  writeSpeedscope: () => [profiled],
  collectStats: opened,
  ingestPerfData: opened,
  readRecords: opened,
  writeScript: opened,
  openPerfData: () => [readFileSync(RECORDING)],
  openRecording: () => [RECORDING],
  loadPrograms: () => [[]],
  connect: () => [process.pid, 'nobody'],
  convertRecording: () => [RECORDING, join(tmpdir(), 'wrong-options.data')],
  counters: () => ['task-clock'],
  launchHeld: () => [['true']],
  profile: () => [() => 1],
  rowsOf: () => [[{ events: [], elapsedNs: 1n }]],
};

async function opened(): Promise<readonly unknown[]> {
  return [await core.openPerfData(readFileSync(RECORDING))];
}

for (const [entry, exported] of Object.entries(ENTRIES).filter(([name]) => name !== 'trace/index'))
  test(`${entry}: unknown options are refused, with the nearest name or all of them`, async () => {
    const wrong: string[] = [];
    for (const { name, parameters } of readReport(entry).functions) {
      const at = parameters.findIndex((parameter) => /options/i.test(parameter));
      if (at < 0) continue;
      const before = at === 0 ? [] : ((await BEFORE_OPTIONS[name]?.()) ?? null);
      if (before === null || (before.length < at && before.length > 0))
        wrong.push(`${name}() has options: give this test its other arguments`);
      if (before === null || before.length < at) continue;
      const error = await errorOf(Reflect.get(exported, name), [...before, { nmaeless: 5 }]);
      const isRefused = error instanceof CounterpointError && error.code === 'ERR_OPTION';
      if (!isRefused || !/no option nmaeless/.test(error.message) || error.remedy === '')
        wrong.push(`${name}: ${error instanceof Error ? error.message : 'no error'}`);
    }
    assert.deepEqual(wrong, []);
  });

test('errors name the function, the argument, and where the right one comes from', async () => {
  const cases: [() => unknown, string, RegExp, RegExp][] = [
    [
      () => node.topFunctions(undefined as never),
      'ERR_ARGUMENT',
      /^topFunctions\(\): the profile should be a Profile, but is undefined$/,
      /await recording\.profile\(\)/,
    ],
    [
      () => node.offCpu({ profile: {} } as never),
      'ERR_ARGUMENT',
      /^offCpu\(\): the profile should be a Profile, but is an object$/,
      /profile/,
    ],
    [() => node.lossLine(undefined as never), 'ERR_ARGUMENT', /^lossLine\(\): the profile/, /profile/],
    [() => node.topFunctions({} as never), 'ERR_ARGUMENT', /topFunctions/, /profile/],
    [
      () => formats.defineFormat(undefined as never),
      'ERR_FORMAT_MODULE',
      /^defineFormat\(\): it is missing, not an object$/,
      /defineFormat\(\{ name/,
    ],
    [
      () => formats.defineFormat({} as never),
      'ERR_FORMAT_MODULE',
      /^defineFormat\(\): name is missing, not a string$/,
      /defineFormat/,
    ],
    [
      () => new node.Recording('perf.data' as never, null as never, null as never, null as never, {}),
      'ERR_ARGUMENT',
      /^a Recording is not made by its constructor$/,
      /openRecording/,
    ],
    [
      () => trace.profileTrace(new Uint8Array(8), undefined as never),
      'ERR_ARGUMENT',
      /the image should be a CodeImage, but is undefined/,
      /new CodeImage/,
    ],
    [
      () => node.collectStats('perf.data' as never),
      'ERR_ARGUMENT',
      /^collectStats\(\): the recording/,
      /openPerfData/,
    ],
  ];
  for (const [call, code, message, remedy] of cases) {
    const error = await errorOf(async () => await call(), []);
    assert.ok(error instanceof CounterpointError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.match(error.remedy, remedy);
  }
});
