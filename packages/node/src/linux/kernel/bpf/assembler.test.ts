import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BpfArchitecture } from '@counterpoint/core/abi';
import fc from 'fast-check';
import { BpfMachine, CONTEXT_ADDRESS } from '../../../test/bpf-machine.ts';
import { BpfAssembler } from './assembler.ts';
import { COMPARISONS, type Comparison } from './instruction-set.ts';
import type { CallArgument } from './map-assembler.ts';
import { memory, r0, r1, r2, r3, r4, r5, r6, r7, r9, u8, u64, w0, w1, w2, w6 } from './operands.ts';
import type { BpfMapDefinition } from './program.ts';
import { bpfStruct } from './struct-layout.ts';

function program(write: (asm: BpfAssembler) => void, type: 'perf-event' | 'tracepoint' = 'perf-event') {
  const asm = new BpfAssembler({ name: 'test', type, architecture: 'x64' });
  write(asm);
  return asm.assemble();
}

function result(write: (asm: BpfAssembler) => void): bigint {
  return new BpfMachine(program(write)).run();
}

const COMPARE: Record<Comparison, (a: bigint, b: bigint) => boolean> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => BigInt.asUintN(64, a) > BigInt.asUintN(64, b),
  '>=': (a, b) => BigInt.asUintN(64, a) >= BigInt.asUintN(64, b),
  '<': (a, b) => BigInt.asUintN(64, a) < BigInt.asUintN(64, b),
  '<=': (a, b) => BigInt.asUintN(64, a) <= BigInt.asUintN(64, b),
  's>': (a, b) => a > b,
  's>=': (a, b) => a >= b,
  's<': (a, b) => a < b,
  's<=': (a, b) => a <= b,
  '&': (a, b) => (a & b) !== 0n,
};

test('if does the one or the other, for every comparison', () => {
  for (const comparison of Object.keys(COMPARISONS) as Comparison[]) {
    for (const left of [-5n, -1n, 0n, 1n, 5n, 1n << 40n]) {
      for (const right of [-5, 0, 1, 5]) {
        const why = `${left} ${comparison} ${right}`;
        const expected = COMPARE[comparison](left, BigInt(right));
        const both = result((asm) => {
          asm.move(r1, left);
          asm.if(
            r1,
            comparison,
            right,
            () => asm.move(r0, 1),
            () => asm.move(r0, 2),
          );
          asm.add(r0, 10);
          asm.exit();
        });
        assert.equal(both, expected ? 11n : 12n, why);
        const returning = result((asm) => {
          asm.move(r1, left);
          asm.move(r2, right);
          asm.if(r1, comparison, r2, () => asm.return(1));
          asm.return(2);
        });
        assert.equal(returning, expected ? 1n : 2n, why);
      }
    }
  }
});

test('w registers compare and compute in 32 bits', () => {
  assert.equal(
    result((asm) => {
      asm.move(r1, 0x1_0000_0005n);
      asm.if(w1, '==', 5, () => asm.return(1));
      asm.return(0);
    }),
    1n,
  );
  assert.equal(
    result((asm) => {
      asm.move(r0, -1);
      asm.add(w0, 3);
      asm.exit();
    }),
    2n,
  );
});

test('a loop has as many rounds as it says; break and continue', () => {
  const rounds = (count: number) =>
    result((asm) => {
      asm.move(r0, 0);
      asm.repeat(r7, count, () => asm.add(r0, r7));
      asm.exit();
    });
  for (const count of [1, 2, 10]) assert.equal(rounds(count), BigInt((count * (count - 1)) / 2));
  const byRegister = (count: number) =>
    result((asm) => {
      asm.move(r0, 0);
      asm.move(r6, count);
      asm.repeat(r7, r6, () => asm.add(r0, 1));
      asm.exit();
    });
  for (const count of [0, 1, 7]) assert.equal(byRegister(count), BigInt(count));
  // 0 + 1 + 3 + 4: 2 is left out, 5 ends it.
  assert.equal(
    result((asm) => {
      asm.move(r0, 0);
      asm.repeat(r7, 100, (loop) => {
        asm.if(r7, '==', 2, () => loop.continue());
        asm.if(r7, '==', 5, () => loop.break());
        asm.add(r0, r7);
      });
      asm.exit();
    }),
    8n,
  );
});

test('the logarithm is the place of the highest bit', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, (1n << 64n) - 1n), fc.nat(63), (value, shift) => {
      const number = value >> BigInt(shift);
      const expected = number === 0n ? 0n : BigInt(number.toString(2).length - 1);
      assert.equal(
        result((asm) => {
          asm.move(r1, number);
          asm.log2(r0, r1);
          asm.exit();
        }),
        expected,
      );
    }),
    { numRuns: 50 },
  );
  for (const power of [15, 16, 17, 31, 32, 33, 47, 48, 49, 63])
    for (const [number, expected] of [
      [1n << BigInt(power), power],
      [(1n << BigInt(power)) - 1n, power - 1],
    ] as const)
      assert.equal(
        result((asm) => {
          asm.move(r1, number);
          asm.log2(r0, r1);
          asm.exit();
        }),
        BigInt(expected),
      );
});

test('the arguments of a call arrive, whatever registers they come from', () => {
  const REGISTERS = [r0, r1, r2, r3, r4, r5, r6, r7];
  const argument: fc.Arbitrary<readonly [CallArgument, bigint]> = fc.oneof(
    fc.nat(7).map((index) => [REGISTERS[index]!, 1000n + BigInt(index)] as const),
    fc.nat(7).map((index) => [{ ...REGISTERS[index]!, bits: 32 as const }, 1000n + BigInt(index)] as const),
    fc
      .tuple(fc.nat(7), fc.integer({ min: -8, max: 8 }))
      .map(
        ([index, offset]) => [memory(REGISTERS[index]!, offset, 8), 1000n + BigInt(index + offset)] as const,
      ),
    fc.integer({ min: -1, max: 1 << 30 }).map((value) => [value, BigInt.asUintN(64, BigInt(value))] as const),
    fc.bigInt(0n, (1n << 64n) - 1n).map((value) => [value, value] as const),
  );
  fc.assert(
    fc.property(fc.array(argument, { minLength: 5, maxLength: 5 }), (args) => {
      let seen: readonly bigint[] = [];
      const machine = new BpfMachine(
        program((asm) => {
          for (const [index, register] of REGISTERS.entries()) asm.move(register, 1000 + index);
          asm.call('perf_event_output', ...args.map(([operand]) => operand));
          asm.return(0);
        }),
        {
          perf_event_output: (passed) => {
            seen = passed;
            return 0n;
          },
        },
      );
      machine.run();
      assert.deepEqual(
        seen,
        args.map(([, value]) => value),
      );
    }),
    { numRuns: 100 },
  );
});

test('counting in a map: a new key, a known one, one that another CPU was first with, and no room', () => {
  const counts: BpfMapDefinition = {
    name: 'counts',
    type: 'hash',
    keySizeBytes: 8,
    valueSizeBytes: 8,
    maxEntries: 2,
  };
  const lost: BpfMapDefinition = {
    name: 'lost',
    type: 'per-cpu-array',
    keySizeBytes: 4,
    valueSizeBytes: 8,
    maxEntries: 1,
  };
  const counting = program((asm) => {
    asm.load(r6, u64(asm.context));
    asm.load(r7, u64(asm.context, 8));
    asm.countInMap(counts, r6, r7, () => asm.countInMap(lost, 0));
    asm.dropRecord();
  });
  const machine = new BpfMachine(counting);
  const count = (key: bigint, amount: bigint) => {
    machine.view.setBigUint64(Number(CONTEXT_ADDRESS), key, true);
    machine.view.setBigUint64(Number(CONTEXT_ADDRESS) + 8, amount, true);
    assert.equal(machine.run(), 0n);
  };
  count(5n, 10n);
  count(5n, 7n);
  count(6n, 1n);
  count(7n, 1n);
  count(7n, 1n);
  assert.deepEqual(machine.counts('counts'), { '0500000000000000': 17n, '0600000000000000': 1n });
  assert.deepEqual(machine.counts('lost'), { '00000000': 2n });

  // The first look-up finds nothing, the update is told that the key is there.
  let lookups = 0;
  const racing = new BpfMachine(counting, {
    map_lookup_elem: (_, { maps }) => (lookups++ === 0 ? 0n : maps.get('lost')!.values.get('00000000')!),
    map_update_elem: () => -17n,
  });
  racing.view.setBigUint64(Number(CONTEXT_ADDRESS) + 8, 3n, true);
  racing.run();
  assert.equal(lookups, 2);
  assert.deepEqual(racing.counts('lost'), { '00000000': 3n });
});

test('several numbers of one value are added to at once', () => {
  const Bucket = bpfStruct({ samples: 'u64', period: 'u64', drops: 'u32', last: 'u32' });
  const buckets: BpfMapDefinition = {
    name: 'buckets',
    type: 'hash',
    keySizeBytes: 4,
    valueSizeBytes: Bucket.sizeBytes,
    maxEntries: 4,
  };
  const machine = new BpfMachine(
    program((asm) => {
      asm.load(r7, u64(asm.context));
      asm.addToMap(buckets, 9, Bucket, { samples: 1, period: r7, last: 2 });
      asm.dropRecord();
    }),
  );
  machine.memory.fill(0xee, 0, Number(CONTEXT_ADDRESS));
  for (const period of [1000n, 30n]) {
    machine.view.setBigUint64(Number(CONTEXT_ADDRESS), period, true);
    machine.run();
  }
  const at = Number(machine.maps.get('buckets')!.values.get('09000000'));
  assert.deepEqual(Bucket.read(machine.memory, at), { samples: 2n, period: 1030n, drops: 0, last: 4 });
});

test('a record is handed over filled, or its loss is counted', () => {
  const Sample = bpfStruct({ ip: 'u64', thread: 'u32', mode: 'u32' });
  const ring: BpfMapDefinition = {
    name: 'ring',
    type: 'ring-buffer',
    keySizeBytes: 0,
    valueSizeBytes: 0,
    maxEntries: 4096,
  };
  const lost: BpfMapDefinition = {
    name: 'lost',
    type: 'array',
    keySizeBytes: 4,
    valueSizeBytes: 8,
    maxEntries: 1,
  };
  const recording = program((asm) => {
    asm.record(
      ring,
      Sample,
      r7,
      (sample) => {
        asm.store(sample.ip, 0x1234);
        asm.loadThreadId(r1);
        asm.store(sample.thread, r1);
        asm.store(sample.mode, 1);
      },
      () => asm.countInMap(lost, 0),
    );
    asm.keepRecord();
  });
  const submitted: unknown[] = [];
  const AT = 60000n;
  const machine = new BpfMachine(recording, {
    ringbuf_reserve: ([, size]) => (submitted.length === 0 && size === 16n ? AT : 0n),
    ringbuf_submit: ([at], { memory: bytes }) => {
      submitted.push(Sample.read(bytes, Number(at)));
      return 0n;
    },
    get_current_pid_tgid: () => (77n << 32n) | 78n,
  });
  assert.equal(machine.run(), 1n);
  assert.deepEqual(submitted, [{ ip: 0x1234n, thread: 78, mode: 1 }]);
  assert.equal(machine.run(), 1n);
  assert.deepEqual(machine.counts('lost'), { '00000000': 1n });
});

test('user or kernel, by the registers of each architecture', () => {
  const mode = (architecture: BpfArchitecture, offset: number, value: number) => {
    const asm = new BpfAssembler({ name: 'mode', type: 'perf-event', architecture });
    asm.loadIsUserMode(w0);
    asm.exit();
    const machine = new BpfMachine(asm.assemble());
    machine.view.setUint32(Number(CONTEXT_ADDRESS) + offset, value, true);
    return machine.run();
  };
  // cs of 64-bit user code and of the kernel; pstate with EL0 and EL1.
  assert.equal(mode('x64', 17 * 8, 0x33), 1n);
  assert.equal(mode('x64', 17 * 8, 0x10), 0n);
  assert.equal(mode('arm64', 33 * 8, 0x60000000), 1n);
  assert.equal(mode('arm64', 33 * 8, 0x60000005), 0n);
});

test('the fields of a context, by type and architecture', () => {
  const offset = (options: ConstructorParameters<typeof BpfAssembler>[0], field: string) => {
    const asm = new BpfAssembler(options);
    asm.loadContext(r2, field);
    asm.return(0);
    return new DataView(asm.assemble().instructions.buffer).getInt16(2, true);
  };
  const perfEvent = { name: 'x', type: 'perf-event' } as const;
  assert.equal(offset({ ...perfEvent, architecture: 'x64' }, 'ip'), 128);
  assert.equal(offset({ ...perfEvent, architecture: 'x64' }, 'sp'), 152);
  assert.equal(offset({ ...perfEvent, architecture: 'x64' }, 'samplePeriod'), 168);
  assert.equal(offset({ ...perfEvent, architecture: 'x64' }, 'address'), 176);
  assert.equal(offset({ ...perfEvent, architecture: 'arm64' }, 'ip'), 256);
  assert.equal(offset({ ...perfEvent, architecture: 'arm64' }, 'samplePeriod'), 272);
  assert.equal(offset({ ...perfEvent, architecture: 'arm64' }, 'address'), 280);
  assert.equal(offset({ name: 'x', type: 'kprobe', architecture: 'x64' }, 'arg1'), 112);
  assert.equal(offset({ name: 'x', type: 'raw-tracepoint' }, 'arg3'), 16);
});

test('the fields of a tracepoint keep their sign, and arrays are copied', () => {
  const fields = [
    { name: 'comm', offset: 8, size: 16, isSigned: false },
    { name: 'prio', offset: 28, size: 4, isSigned: true },
    { name: 'odd', offset: 33, size: 7, isSigned: false },
  ];
  const asm = new BpfAssembler({ name: 'fields', type: 'tracepoint', fields });
  const comm = asm.stack('comm', 16);
  const odd = asm.stack('odd', 7);
  asm.copyContext(comm, 'comm', r2);
  asm.copyContext(odd, 'odd', r2);
  asm.loadContext(r0, 'prio');
  asm.load(r3, u8(comm.base, comm.offsetBytes + 15));
  asm.load(r4, u8(odd.base, odd.offsetBytes + 6));
  asm.add(r0, r3);
  asm.add(r0, r4);
  asm.exit();
  const machine = new BpfMachine(asm.assemble());
  machine.view.setInt32(Number(CONTEXT_ADDRESS) + 28, -1000, true);
  machine.view.setUint8(Number(CONTEXT_ADDRESS) + 23, 100);
  machine.view.setUint8(Number(CONTEXT_ADDRESS) + 39, 7);
  assert.equal(BigInt.asIntN(64, machine.run()), -893n);
});

test('a text of any length is read from where its field says', () => {
  for (const dynamic of ['data', 'relative'] as const) {
    const fields = [{ name: 'filename', offset: 16, size: 4, isSigned: false, dynamic }];
    const asm = new BpfAssembler({ name: 'text', type: 'tracepoint', fields });
    const text = asm.stack('text', 12);
    asm.copyContextText(text, 'filename');
    asm.exit();
    const asked: bigint[] = [];
    const machine = new BpfMachine(asm.assemble(), {
      probe_read_kernel_str: ([, size, from]) => {
        asked.push(size!, from! - CONTEXT_ADDRESS);
        return 7n;
      },
    });
    machine.view.setUint32(Number(CONTEXT_ADDRESS) + 16, (7 << 16) | 40, true);
    assert.equal(machine.run(), 7n);
    assert.deepEqual(asked, [12n, dynamic === 'data' ? 40n : 60n]);
  }
});

test('zeros fill a slot and nothing beside it', () => {
  const machine = new BpfMachine(
    program((asm) => {
      asm.stack('before', 3);
      const slot = asm.stack('slot', bpfStruct({ a: 'u64', b: 'u32', c: 3 }));
      asm.zero(slot);
      asm.address(r0, slot);
      asm.exit();
    }),
  );
  machine.memory.fill(0xff);
  const at = Number(machine.run());
  const bytes = machine.memory;
  assert.equal(bytes[at - 1], 0xff);
  assert.deepEqual(bytes.subarray(at, at + 15), new Uint8Array(15));
  assert.equal(bytes[at + 15], 0xff);
});

test('a function has a stack of its own and its arguments in r1 to r5', () => {
  assert.equal(
    result((asm) => {
      const slot = asm.stack('slot', 8);
      asm.store(slot, 1000);
      asm.move(r1, 20);
      asm.callFunction('twice');
      asm.load(r6, slot);
      asm.add(r0, r6);
      asm.exit();
      asm.function('twice', () => {
        const own = asm.stack('slot', 8);
        asm.store(own, r1);
        asm.load(r0, own);
        asm.multiply(r0, 2);
        asm.exit();
      });
    }),
    1040n,
  );
});

test('a result of any width', () => {
  assert.equal(
    result((asm) => asm.return(-1)),
    (1n << 64n) - 1n,
  );
  assert.equal(
    result((asm) => {
      asm.move(r6, -1);
      asm.return(w6);
    }),
    0xffffffffn,
  );
  assert.equal(
    result((asm) => {
      asm.move(r9, 5);
      asm.move(w2, 6);
      asm.add(r9, r2);
      asm.return(r9);
    }),
    11n,
  );
});

test('a long program jumps as far as it has to', () => {
  const far = program((asm) => {
    asm.jumpIf(r1, '!=', 0, 'near');
    asm.jump('end');
    asm.label('near');
    for (let index = 0; index < 0x8000; index++) asm.move(r0, 0);
    asm.label('end');
    asm.return(3);
  });
  // gotol, cpu v4
  assert.equal(far.instructions[8], 0x06);
  assert.equal(new BpfMachine(far).run(), 3n);
});
