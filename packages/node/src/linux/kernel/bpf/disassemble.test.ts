import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BpfAssembler } from './assembler.ts';
import { disassemble, disassembleSlot, formatListing } from './disassemble.ts';
import { r0, r1, r2, r6, r7, u32, u64 } from './operands.ts';
import type { BpfMapDefinition } from './program.ts';
import { decodeSlots, encodeSlots } from './slots.ts';

const totals: BpfMapDefinition = {
  name: 'totals',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: 16,
  maxEntries: 1,
};

test('a listing tells what a person needs beside the text', () => {
  const asm = new BpfAssembler({ name: 'listing', type: 'perf-event' });
  asm.saveContext(r6);
  asm.mapLookup(totals, 0);
  asm.ifNull(r0, () => asm.dropRecord());
  asm.move(r1, 0x1_0000_0000n);
  asm.atomicAdd(u64(r0), r1);
  asm.loadMapValue(r7, totals, 8);
  asm.callFunction('helper');
  asm.loadFunctionAddress(r2, 'helper');
  asm.loadAcquire(r0, u32(r7));
  asm.storeRelease(u64(r7), r0);
  asm.keepRecord();
  asm.function('helper', () => asm.return(0));
  const program = asm.assemble();
  assert.equal(
    formatListing(program),
    `    0: r6 = r1
    1: *(u32 *)(r10 - 4) = 0
    2: r2 = r10
    3: r2 += -4
    4: r1 = totals ll                     # map
    6: call 1                             # map_lookup_elem
    7: if r0 != 0 goto +2                 # to 10
    8: r0 = 0
    9: exit
   10: r1 = 4294967296 ll
   12: lock *(u64 *)(r0 + 0) += r1
   13: r7 = totals + 8 ll                 # value of map
   15: call 6                             # function at 22
   16: r2 = function ll                   # at 22
   18: w0 = load_acquire((u32 *)(r7 + 0))
   19: store_release((u64 *)(r7 + 0), r0)
   20: r0 = 1
   21: exit
   22: r0 = 0
   23: exit
`,
  );
  // The kernel may name either slot of a pair.
  assert.equal(disassembleSlot(program, 5)?.text, 'r1 = totals ll');
  assert.equal(disassembleSlot(program, 6)?.text, 'call 1');
  assert.equal(disassembleSlot(program, 6)?.line?.line, program.lines[4]?.line);
});

test('any bytes have a text, and slots come back as they were', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (instructions) => {
      const listed = disassemble({ instructions });
      const slots = decodeSlots(instructions);
      assert.ok(listed.length <= slots.length);
      for (const { text } of listed) assert.match(text, /^[ -~]+$/);
      assert.deepEqual(encodeSlots(slots), instructions.slice(0, slots.length * 8));
    }),
    { numRuns: 2000 },
  );
});

test('every opcode has a text that names it, or says that it is none', () => {
  for (let opcode = 0; opcode < 256; opcode++) {
    const instructions = encodeSlots([{ opcode, destination: 1, source: 2, offset: 0, immediate: 16 }]);
    const [one] = disassemble({ instructions });
    assert.ok(!/undefined|null|NaN/.test(one!.text), one!.text);
    if (one!.text.startsWith('unknown'))
      assert.equal(one!.text, `unknown 0x${opcode.toString(16).padStart(2, '0')}`);
  }
});
