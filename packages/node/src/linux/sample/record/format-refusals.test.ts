/** Who may not, and what cannot be: each is said, nothing stays loaded, the command does not start. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { goes } from '../../../test/bpf-programs.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { noFormats as skip } from '../../../test/format-recording.ts';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';
import { listMaps, listPrograms } from '../../kernel/bpf/index.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { record } from './record.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-refusals-'));
after(() => rmSync(folder, { recursive: true }));

const marker = join(folder, 'ran');
const output = join(folder, 'perf.data');

describe('as nobody', { skip: skip || noNobody() }, () => {
  const recordAs = (capabilities: readonly string[]) =>
    nodeAsNobody(
      [
        ...commandLineProcess(),
        ...['record', '--format', 'histogram', '-e', 'task-clock:u', '-o', output, '--', 'touch', marker],
      ],
      folder,
      capabilities,
    );

  test('without capabilities, and with one of the two', () => {
    for (const [capabilities, missing] of [
      [[], /CAP_BPF and CAP_PERFMON missing; kernel\.unprivileged_bpf_disabled is [12]/],
      [['perfmon'], /may not load: CAP_BPF missing;/],
    ] as const) {
      const { status, stderr } = recordAs(capabilities);
      assert.notEqual(status, 0);
      assert.match(stderr, missing);
      assert.match(
        stderr,
        /the sampling format histogram runs a program in the kernel \(eBPF\), which this user may not load/,
      );
      assert.doesNotMatch(stderr, /map "/);
      assert.match(stderr, /counterpoint doctor/);
      assert.ok(!existsSync(marker) && !existsSync(output), 'the command ran');
    }
  });

  test('CAP_BPF and CAP_PERFMON are enough', () => {
    const { status, stderr } = recordAs(['bpf', 'perfmon']);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /histogram: [\d,]+ (?:overflows?|program runs)/);
    assert.ok(existsSync(marker));
    rmSync(marker);
    rmSync(output);
  });
});

const NAME = `bad_${process.pid}`;
/** A format of a user's, whose handler is this. */
function moduleOf(name: string, handler: string): string {
  const path = join(folder, `${name}.ts`);
  writeFileSync(
    path,
    `import { defineFormat, r0, r1, r7, u64 } from 'counterpoint/formats';
const counts = { name: '${NAME}', type: 'hash', keySizeBytes: 4, valueSizeBytes: 8, maxEntries: 1 } as const;
export default defineFormat({
  name: '${NAME}', version: 1, summary: '', options: { depth: { type: 'count', default: 1, help: '' } },
  plan: () => ({ maps: [counts] }),
  async *collect() {},
  onOverflow(asm) {
    ${handler}
  },
});
`,
  );
  return path;
}
const HANDLER_LINE = 8;

test("a user's format that cannot be", { skip }, async () => {
  const attempt = (format: string) =>
    record({ command: ['touch', marker], events: 'task-clock', formats: [format], output });
  const verifier = moduleOf(
    'verifier',
    'asm.mapLookup(counts, 0); asm.load(r1, u64(r0, 0)); asm.store(u64(r0, 0), r1);',
  );
  await assert.rejects(attempt(verifier), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'ERR_BPF_VERIFIER');
    assert.match(error.message, new RegExp(`verifier\\.ts:${HANDLER_LINE}`));
    return true;
  });
  const chains = join(folder, 'chains.ts');
  const plan =
    'plan: () => ({ callchains: { mostFrames: 9, isFoundByHandler: () => true }, maps: [counts] })';
  const keeps = readFileSync(moduleOf('keeps', 'asm.keepRecord();'), 'utf8');
  writeFileSync(chains, keeps.replace('plan: () => ({ maps: [counts] })', plan));
  await assert.rejects(attempt(chains), {
    code: 'ERR_FORMAT_EVENT',
    message: /no call chains: its plan says/,
  });
  const throws = moduleOf('throws', "throw new Error('no idea');");
  await assert.rejects(attempt(throws), { code: 'ERR_FORMAT_HANDLER', message: /no idea/ });
  const assembler = moduleOf('assembler', "asm.loadContext(r7, 'no_such_register');");
  await assert.rejects(attempt(assembler), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'ERR_BPF_CONTEXT');
    assert.match(error.message, new RegExp(`assembler\\.ts:${HANDLER_LINE}`));
    return true;
  });
  const slow = moduleOf('slow', "asm.move(r7, 1); await null; throw new Error('too late');");
  writeFileSync(slow, readFileSync(slow, 'utf8').replace('onOverflow', 'async onOverflow'));
  await assert.rejects(attempt(slow), {
    code: 'ERR_FORMAT_HANDLER',
    message: new RegExp(
      `slow\\.ts:${HANDLER_LINE}:\\d+: the sampling format ${NAME}: the handler of task-clock is an async function`,
    ),
  });
  const stepwise = moduleOf('stepwise', 'yield asm.dropRecord();');
  writeFileSync(stepwise, readFileSync(stepwise, 'utf8').replace('onOverflow', '*onOverflow'));
  await assert.rejects(attempt(stepwise), {
    code: 'ERR_FORMAT_HANDLER',
    message: /stepwise\.ts: the sampling format bad_\d+: the handler of task-clock is a generator function/,
  });
  const block = moduleOf('block', "asm.if(r7, '==', 0, async () => { throw new Error('too late'); });");
  await assert.rejects(attempt(block), { code: 'ERR_BPF_ASYNC_BLOCK' });
  await assert.rejects(attempt(`${verifier},dept=3`), {
    code: 'ERR_FORMAT_OPTION',
    message: /did you mean depth/,
  });
  const syntax = moduleOf('syntax', 'asm.return(0;');
  await assert.rejects(attempt(syntax), { code: 'ERR_FORMAT_MODULE', message: /syntax\.ts/ });
  assert.ok(!existsSync(marker) && !existsSync(output), 'the command ran');
  const isOurs = ({ name }: { name: string }) => name.startsWith(NAME.slice(0, 15));
  await goes(() => [...listPrograms(realSys), ...listMaps(realSys)].some(isOurs));
});

test('what is too large for the kernel is told with whose it is, and with the limit', { skip }, async () => {
  const attempt = (name: string, shape: string) => {
    const path = moduleOf(name, 'asm.dropRecord();');
    const maps = `maps: [{ ...counts, name: '${NAME}_m', ${shape} }]`;
    writeFileSync(path, readFileSync(path, 'utf8').replace('maps: [counts]', maps));
    return record({ command: ['touch', marker], events: 'task-clock', formats: [path], output });
  };
  for (const [name, shape, limit] of [
    ['wide', 'valueSizeBytes: 1 << 30', /has 1,073,741,828 bytes, but the kernel accepts less than/],
    ['many', 'maxEntries: 2 ** 28', /268,435,456 entries, but the kernel accepts at most 134,217,728/],
    ['spread', "type: 'per-cpu-array', valueSizeBytes: 40000", /40,000 bytes on each CPU, .* at most 32,768/],
    ['longest', "type: 'array', valueSizeBytes: 2 ** 31", /2,147,483,648 bytes, .* less than 2 GiB/],
    [
      'ring',
      "type: 'ring-buffer', keySizeBytes: 0, valueSizeBytes: 0, maxEntries: 5000",
      /cannot have 5000 bytes$/,
    ],
  ] as const)
    await assert.rejects(attempt(name, shape), ({ message }: Error) => {
      assert.match(
        message,
        new RegExp(`${name}\\.ts: the sampling format ${NAME}: (?:map|the ring buffer) "${NAME}_m"`),
      );
      assert.match(message, limit);
      return true;
    });
});

test('a path with a comma is told from a format with options', { skip }, async () => {
  const path = join(folder, 'own,format.ts');
  writeFileSync(path, readFileSync(moduleOf('own', 'asm.dropRecord();'), 'utf8'));
  await assert.rejects(
    record({ command: ['touch', marker], events: 'task-clock', formats: [path], output }),
    {
      code: 'ERR_FORMAT_MODULE',
      message: /there is no file \S+own$/,
      remedy: /own,format\.ts exists, but a comma begins the options/,
    },
  );
});
