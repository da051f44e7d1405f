import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ASSEMBLED_ARCHITECTURES, gnuAssembler } from '../../../test/gnu-assembler.ts';
import { BLOCK, IOVECS_OFFSET } from './drain-block.ts';
import { drainCode } from './drain-code.ts';

/**
 * First half of the SHA-256 of the code, as the GNU assembler 2.40 made it: where there is
 * no assembler, this is compared.
 */
const KNOWN: Record<string, string> = {
  x64: '9e44e8efbbaf003345113c49698ea08b',
  arm64: 'e89b13ab9857e7d213225f5177270ece',
};

for (const arch of ASSEMBLED_ARCHITECTURES) {
  const { skip, assemble } = gnuAssembler(arch);

  test(`the draining thread for ${arch} is what the GNU assembler makes of its text`, { skip }, () => {
    const { bytes, listing } = drainCode(arch)!;
    assert.equal(Buffer.from(bytes).toString('hex'), Buffer.from(assemble(listing)).toString('hex'));
  });

  test(`the draining thread for ${arch} is as it was when the GNU assembler agreed`, () => {
    const { bytes } = drainCode(arch)!;
    assert.equal(createHash('sha256').update(bytes).digest('hex').slice(0, 32), KNOWN[arch]);
  });
}

test('an architecture without an assembler has no thread', () => {
  assert.equal(drainCode('riscv64'), null);
});

test('the words that are shared end before what follows them', () => {
  assert.ok(Math.max(...Object.values(BLOCK)) + 8 <= IOVECS_OFFSET);
});
