/**
 * Only what is large: a sample where a field of a tracepoint has at least a value, chosen in the kernel.
 *
 *   counterpoint record -e syscalls:sys_exit_read --format ./examples/formats/threshold.ts,field=ret,least=64K -a -- sleep 10
 *   counterpoint report
 *
 * A sample's period is the field's value, so `report` shows who had how much of it.
 */
import { type BpfMapDefinition, bpfStruct, defineFormat, r0, r2, r7, r8, r9 } from 'counterpoint/formats';

const Large = bpfStruct({
  timeNs: 'u64',
  value: 'u64',
  address: 'u64',
  pid: 'u32',
  tid: 'u32',
  cpu: 'u32',
  event: 'u32',
});

const ringOf = (sizeBytes: number): BpfMapDefinition => ({
  name: 'large',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: sizeBytes,
});

/** Of bpf_get_stack: the user's part. */
const BPF_F_USER_STACK = 256;

export default defineFormat({
  name: 'threshold',
  version: 1,
  summary: 'samples where a field of a tracepoint is large enough',
  options: {
    field: { type: 'text', default: 'ret', help: "the tracepoint's field" },
    least: { type: 'count', default: 4096, help: 'its smallest value that is recorded' },
    ring: {
      type: 'bytes',
      default: 1 << 20,
      min: 4096,
      help: 'room for samples in the kernel, a power of two',
    },
  },
  plan: ({ ring }) => ({ maps: [ringOf(ring)] }),
  onOverflow(asm, { event, options, countLoss }) {
    const address = asm.stack('address', 8);
    asm.loadContext(r7, options.field);
    // Signed: an error number is not large.
    asm.if(r7, 's<', options.least, () => asm.keepRecord());
    asm.store(address, 0);
    asm.call('get_stack', asm.context, address, 8, BPF_F_USER_STACK);
    asm.record(
      ringOf(options.ring),
      Large,
      r8,
      (sample) => {
        asm.store(sample.value, r7);
        asm.load(r2, address);
        asm.store(sample.address, r2);
        asm.store(sample.event, event);
        asm.call('ktime_get_ns');
        asm.store(sample.timeNs, r0);
        asm.call('get_smp_processor_id');
        asm.store(sample.cpu, r0);
        asm.loadProcessId(r9);
        asm.store(sample.pid, r9);
        asm.loadThreadId(r9);
        asm.store(sample.tid, r9);
      },
      () => countLoss('ring-full'),
    );
  },
  async *collect(maps, { openRing, next }) {
    const ring = openRing(maps.get('large')!);
    try {
      for (let isLast = false; !isLast; ) {
        isLast = (await next(100)) === 'stopped';
        while (ring.reader.next()) yield Large.read(ring.reader.payload());
        ring.reader.commit();
      }
    } finally {
      ring.close();
    }
  },
  *toSamples({ event, address, pid, tid, cpu, timeNs, value }) {
    yield { event, ip: address, pid, tid, cpu, timeNs, period: value };
  },
});
