import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_RECORD_SAMPLE } from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, writePerfData } from '@counterpoint/core/perfdata';
import { parseFields, type ScriptResult, writeScript } from '@counterpoint/core/query';
import { makeAttr } from '@counterpoint/core/records';
import type { FileRequest, SymbolDriver } from '@counterpoint/core/symbols';
import { jitDumpBytes } from '../../../../core/src/test/jitdump-bytes.ts';
import { ptRecording } from '../../pt/index.ts';
import { parseTraceProgram } from '../../pt/text/index.ts';
import { parseItrace, withTrace } from './index.ts';

const PID = 1234;
const JIT = 0x7f00_0000_1000n;
const KERNEL = 0xffff_ffff_8100_0000n;
const VDSO = 0x7fff_1234_0000n;

/** The same little loop wherever it stands; six instructions of it are traced. */
function programAt(address: bigint): { code: Uint8Array; trace: Uint8Array } {
  const { code, trace } = parseTraceProgram(`title loop
code 0x${address.toString(16)} 64
  l1: inc
  l2: jne l1
  l3: nop
  l4: ret
trace
  psb; mode.exec 64; fup l1 /full; psbend
  tnt tn; tip.pgd -
`);
  return { code: code[0]!.bytes, trace };
}

const pathOf = (address: bigint): string[] =>
  [0n, 2n, 0n, 2n, 4n, 5n].map((offset) => (address + offset).toString(16));

/** A core file of one segment. */
function coreFile(address: bigint, code: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(0x1000 + code.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 4, true);
  view.setUint16(18, 62, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(32, 64n, true);
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 1, true);
  view.setUint32(64, 1, true);
  view.setUint32(68, 5, true);
  view.setBigUint64(72, 0x1000n, true);
  view.setBigUint64(80, address, true);
  view.setBigUint64(96, BigInt(code.length), true);
  view.setBigUint64(104, BigInt(code.length), true);
  bytes.set(code, 0x1000);
  return bytes;
}

async function run(
  trace: Uint8Array,
  mappings: Parameters<typeof ptRecording>[0]['mappings'],
  open: (request: FileRequest) => Uint8Array<ArrayBuffer> | null,
  isKernelTraced = false,
): Promise<ScriptResult & { addresses: string[]; asked: FileRequest[] }> {
  const { attrs, records } = ptRecording({ pid: PID, comm: 'code', mappings, trace });
  const recorded = attrs.map((event) => ({
    ...event,
    attr: makeAttr({ ...event.attr, flags: { ...event.attr.flags, excludeKernel: isKernelTraced ? 0 : 1 } }),
  }));
  const source = memorySource(writePerfData({ attrs: recorded, records }));
  const asked: FileRequest[] = [];
  const files: SymbolDriver = {
    open: async (request) => {
      asked.push(request);
      const bytes = open(request);
      return bytes === null ? null : memorySource(bytes);
    },
  };
  let text = '';
  const result = await writeScript(
    withTrace(await openPerfData(source), { bytes: source, files, options: parseItrace('i1i') }),
    {
      symbols: { open: async () => null },
      fields: parseFields('ip'),
    },
    (utf8) => {
      text += new TextDecoder().decode(utf8);
    },
  );
  return { ...result, addresses: text.split(/\s+/).filter((word) => word !== ''), asked };
}

test('code that was compiled at run time comes from the jitdump that the process has mapped', async () => {
  const { code, trace } = programAt(JIT);
  const dump = jitDumpBytes(
    [
      {
        kind: 'load',
        time: 10,
        pid: PID,
        tid: PID,
        address: JIT,
        codeIndex: 1n,
        name: 'loop',
        code,
        sizeBytes: code.length,
      },
    ],
    true,
  );
  const mappings = [
    { path: '//anon', address: JIT & ~0xfffn, sizeBytes: 0x1000, fileOffset: 0 },
    { path: '/tmp/jit-1234.dump', address: 0x7f00_0000_9000n, sizeBytes: 0x1000, fileOffset: 0 },
  ];
  const open = ({ need }: FileRequest) => (need === 'jitdump' ? dump : null);
  const { addresses, diagnostics } = await run(trace, mappings, open);
  assert.deepEqual(addresses, pathOf(JIT));
  assert.deepEqual(
    diagnostics.filter(({ code: name }) => name.startsWith('code-')),
    [],
  );

  const without = await run(trace, mappings, () => null);
  assert.deepEqual(without.addresses, []);
  assert.ok(
    without.diagnostics.some(({ code: name, path }) => name === 'code-not-found' && path.endsWith('.dump')),
  );
  const damaged = await run(trace, mappings, () => new Uint8Array(100));
  assert.ok(damaged.diagnostics.some(({ code: name }) => name === 'code-damaged'));
});

test('code that replaces other code is said', async () => {
  const { code, trace } = programAt(JIT);
  const load = {
    kind: 'load',
    pid: PID,
    tid: PID,
    address: JIT,
    name: 'loop',
    sizeBytes: code.length,
  } as const;
  const dump = jitDumpBytes(
    [
      { ...load, time: 10, codeIndex: 1n, code: new Uint8Array(code.length).fill(0x90) },
      { ...load, time: 11, codeIndex: 2n, code },
    ],
    true,
  );
  const mappings = [
    { path: '/tmp/jit-1234.dump', address: 0x7f00_0000_9000n, sizeBytes: 0x1000, fileOffset: 0 },
  ];
  const { addresses, diagnostics } = await run(trace, mappings, ({ need }) =>
    need === 'jitdump' ? dump : null,
  );
  assert.deepEqual(addresses, pathOf(JIT));
  assert.ok(diagnostics.some(({ code: name }) => name === 'code-replaced'));
});

test("the kernel's code comes from a copy of its memory, and only where it was traced", async () => {
  const { code, trace } = programAt(KERNEL);
  const core = coreFile(KERNEL, code);
  const open = ({ need }: FileRequest) => (need === 'kcore' ? core : null);
  const { addresses } = await run(trace, [], open, true);
  assert.deepEqual(addresses, pathOf(KERNEL));
  const userOnly = await run(trace, [], open);
  assert.deepEqual(
    userOnly.asked.filter(({ need }) => need === 'kcore'),
    [],
  );

  const without = await run(trace, [], () => null, true);
  assert.ok(without.diagnostics.some(({ code: name }) => name === 'kernel-code-not-found'));
  const damaged = await run(trace, [], ({ need }) => (need === 'kcore' ? new Uint8Array(200) : null), true);
  assert.ok(damaged.diagnostics.some(({ code: name }) => name === 'kernel-code-damaged'));
});

test('the vdso is asked for as such, from its beginning', async () => {
  const { code, trace } = programAt(VDSO + 0x100n);
  const vdso = new Uint8Array(0x1000);
  vdso.set(code, 0x100);
  const mappings = [{ path: '[vdso]', address: VDSO, sizeBytes: 0x1000, fileOffset: 0 }];
  const { addresses, asked } = await run(trace, mappings, ({ need }) => (need === 'vdso' ? vdso : null));
  assert.deepEqual(addresses, pathOf(VDSO + 0x100n));
  assert.deepEqual(
    asked.map(({ need }) => need),
    ['vdso'],
  );
});

test('the recording is taken as a File, as its bytes or as a source; what holds none is refused at once', async () => {
  const { code, trace } = programAt(JIT);
  const mappings = [{ path: '/bin/loop', address: JIT, sizeBytes: 0x1000, fileOffset: 0x1000 }];
  const { attrs, records } = ptRecording({ pid: PID, comm: 'code', mappings, trace });
  const recording = writePerfData({ attrs, records });
  const buffer = recording.buffer.slice(recording.byteOffset, recording.byteOffset + recording.length);
  const files = { open: async () => memorySource(coreFile(JIT, code)) };
  const options = parseItrace('i1i');
  for (const bytes of [recording, buffer, new Blob([recording]), memorySource(recording)]) {
    const source = withTrace(await openPerfData(bytes), { bytes, files, options });
    let samples = 0;
    const outcome = await source.scan({
      record: (_view, _start, _end, type) => void (samples += type === PERF_RECORD_SAMPLE ? 1 : 0),
    });
    assert.deepEqual([samples, outcome?.errors], [pathOf(JIT).length, []], bytes.constructor.name);
  }
  const reader = await openPerfData(recording);
  for (const bytes of ['perf.data', undefined, new Blob([recording]).stream()])
    assert.throws(() => withTrace(reader, { bytes: bytes as never, files, options }), { code: 'ERR_INPUT' });
});
