/**
 * Wake rules as instructions: what is written at the beginning of a handler, where a map gets
 * an entry, and where a run ends.
 */
import { BPF_RB_AVAIL_DATA } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { type BpfAssembler, type BpfMapDefinition, bpfStruct, r0, r1, r2 } from '../../kernel/bpf/index.ts';
import { everyNth, runCounts } from './every-nth.ts';
import type { WakeRule } from './format.ts';

/** Of the map of a rule, over all CPUs. */
const Level = bpfStruct({
  /** New entries since the last notification. */
  entries: 'u64',
  /** The ring has so much in it, and that was told. */
  isTold: 'u64',
});

const FILL_LEVEL: BpfMapDefinition = {
  name: 'fill_level',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: Level.sizeBytes,
  maxEntries: 1,
};

/** What a rule of a fill level is about. */
export interface FillLevel {
  readonly map: BpfMapDefinition;
  /** Bytes of a ring buffer, entries of another map. */
  readonly level: number;
}

const MOST = 2 ** 31 - 1;

/** Throws for a rule that cannot be kept. */
export function checkWakeRule(
  format: string,
  wake: WakeRule,
  maps: readonly BpfMapDefinition[],
): FillLevel | null {
  const refused = (why: string, remedy: string) =>
    new CounterpointError('ERR_FORMAT_WAKE', `the wake rule of the format ${format} ${why}`, remedy);
  const requireCount = (count: number) => {
    if (Number.isSafeInteger(count) && count >= 1 && count <= MOST) return;
    throw refused(`counts to ${count}`, 'Give a whole number from 1 to 2^31 - 1.');
  };
  if (wake.kind === 'never') return null;
  if (wake.kind === 'every') {
    requireCount(wake.count);
    return null;
  }
  // Formats without types come here, too.
  if (wake.kind !== 'filled')
    throw refused(
      `is of a kind ${String((wake as WakeRule).kind)}, which does not exist`,
      'Its kinds are never, every and filled.',
    );
  const map = maps.find(({ name }) => name === wake.map);
  if (map === undefined)
    throw refused(`is about a map ${wake.map} that its plan does not have`, 'Name it among the maps there.');
  const unit = 'bytes' in wake ? 'bytes' : 'entries';
  if ((map.type === 'ring-buffer') !== (unit === 'bytes'))
    throw refused(
      `counts ${unit} of ${wake.map}, a map of type ${map.type}`,
      'A ring buffer is filled with bytes, any other map with entries.',
    );
  const level = 'bytes' in wake ? wake.bytes : wake.entries;
  requireCount(level);
  if (level > map.maxEntries)
    throw refused(`waits for ${level} ${unit} in ${wake.map}`, `There is room for ${map.maxEntries}.`);
  return { map, level };
}

/** Count, and notify at each `count`-th run on a CPU. */
export function wakeEvery(
  asm: BpfAssembler,
  { event, events, count }: { event: number; events: number; count: number },
  notify: () => void,
): void {
  everyNth(asm, runCounts('wake_counts', events), event, count, notify);
}

/** One more entry is in the map of a rule. Whoever puts in the last one notifies, and begins anew. */
export function countEntry(asm: BpfAssembler, entries: number, notify: () => void): void {
  asm.loadMapValue(r1, FILL_LEVEL);
  asm.move(r2, 1);
  asm.atomicFetchAdd(Level.at(r1).entries, r2);
  asm.if(r2, '==', entries - 1, () => {
    // Others may have come in between: those count already.
    asm.move(r2, -entries);
    asm.atomicAdd(Level.at(r1).entries, r2);
    notify();
  });
}

/** At the end of a run: notify where the ring is filled, once until it is less so. */
export function wakeAtFilledRing(
  asm: BpfAssembler,
  ring: BpfMapDefinition,
  bytes: number,
  notify: () => void,
): void {
  asm.call('ringbuf_query', ring, BPF_RB_AVAIL_DATA);
  asm.loadMapValue(r1, FILL_LEVEL);
  const { isTold } = Level.at(r1);
  asm.if(
    r0,
    '>=',
    bytes,
    () => {
      asm.move(r2, 1);
      asm.atomicExchange(isTold, r2);
      asm.if(r2, '==', 0, notify);
    },
    () => {
      asm.load(r2, isTold);
      asm.if(r2, '!=', 0, () => asm.store(isTold, 0));
    },
  );
}
