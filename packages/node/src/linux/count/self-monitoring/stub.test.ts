import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { ASSEMBLED_ARCHITECTURES, gnuAssembler } from '../../../test/gnu-assembler.ts';
import { makeStub } from './stub.ts';
import type { StubRequest } from './stub-request.ts';

const REQUESTS: Record<string, StubRequest> = {
  'two events, time of the page': {
    resultsAddress: 0x7f12_3456_7000n,
    pageAddresses: [0x7f12_3456_8000n, 0xffff_9abc_d000n],
    clock: { kind: 'page', pageAddress: 0x7f12_3456_8000n },
    counterInstruction: 'counter',
  },
  'many events, time of the C library': {
    resultsAddress: 0x1000n,
    pageAddresses: Array.from({ length: 64 }, (_, i) => 0x7fff_0000_0000n + BigInt(i) * 4096n),
    clock: { kind: 'monotonic', clockGettimeAddress: 0x7f00_1234_5678n },
    counterInstruction: 'clock',
  },
  'the time alone': {
    resultsAddress: 0x2000n,
    pageAddresses: [],
    clock: { kind: 'page', pageAddress: 0x3000n },
    counterInstruction: 'counter',
  },
  'the time of the C library alone': {
    resultsAddress: 0x2000n,
    pageAddresses: [],
    clock: { kind: 'monotonic', clockGettimeAddress: 0x7f00_1234_5678n },
    counterInstruction: 'counter',
  },
};

for (const arch of ASSEMBLED_ARCHITECTURES) {
  const { skip, assemble } = gnuAssembler(arch);

  describe(`the stub for ${arch}`, () => {
    for (const [what, request] of Object.entries(REQUESTS)) {
      test(`is what the GNU assembler makes of its text: ${what}`, { skip }, () => {
        const { bytes, listing } = makeStub(arch, request)!;
        const peer = assemble(listing);
        assert.equal(Buffer.from(bytes).toString('hex'), Buffer.from(peer).toString('hex'));
      });
    }
  });
}

/**
 * First half of the SHA-256 of the code, as the GNU assembler 2.40 made it: where there is
 * no assembler, this is compared.
 */
const KNOWN: Record<string, Record<string, string>> = {
  x64: {
    'two events, time of the page': 'aa9706372b48dd546cb1fc06aa3e66b6',
    'many events, time of the C library': 'b42df0ea5e6b7bf472efea520c8e719c',
    'the time alone': '8ad99bd2a6606f2e28740dfa7efb1a3a',
    'the time of the C library alone': '62f0d8ae7319fc2e94798d98fe62d376',
  },
  arm64: {
    'two events, time of the page': 'ac09ec45330195d262bd65320a94b0cc',
    'many events, time of the C library': '111b2bdaca165fa8fbdccf88710aebad',
    'the time alone': '50785cb40a982b3bc65a5c735359a5ff',
    'the time of the C library alone': '08d0a21fa06951e14dcd2a30b4a40e47',
  },
};

for (const [arch, known] of Object.entries(KNOWN)) {
  test(`the stub for ${arch} is as it was when the GNU assembler agreed`, () => {
    const found = Object.entries(REQUESTS).map(([what, request]) => {
      const { bytes } = makeStub(arch, request)!;
      return [what, createHash('sha256').update(bytes).digest('hex').slice(0, 32)];
    });
    assert.deepEqual(Object.fromEntries(found), known);
  });
}

test('an architecture without a stub has none', () => {
  assert.equal(makeStub('riscv64', REQUESTS['the time alone']!), null);
});
