import { toBigInt } from '../../base/index.ts';
import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import { PERF_SAMPLE_TIME } from '../../format/abi/index.ts';
import type { LossFacts } from '../../format/loss/index.ts';
import type { SampleFields } from '../../format/records/index.ts';

type UnfinishedKind = 'user-stack-cut' | 'user-stack-not-unwound';

interface Sum {
  samples: number;
  firstNs: bigint | null;
  lastNs: bigint | null;
}

/** Stacks whose outer callers are missing, for the ledger: how many, of which events, from when to when. */
export class UnfinishedStacks {
  readonly #sums = new Map<RecordedEvent, Map<UnfinishedKind, Sum>>();

  add(kind: UnfinishedKind, event: RecordedEvent, fields: SampleFields): void {
    let kinds = this.#sums.get(event);
    if (kinds === undefined) this.#sums.set(event, (kinds = new Map()));
    const hasTime = (event.layout.sampleType & PERF_SAMPLE_TIME) !== 0;
    const timeNs = hasTime ? toBigInt(fields.timeLo, fields.timeHi) : null;
    const sum = kinds.get(kind);
    if (sum === undefined) kinds.set(kind, { samples: 1, firstNs: timeNs, lastNs: timeNs });
    else {
      sum.samples++;
      sum.lastNs = timeNs;
    }
  }

  list(): LossFacts[] {
    return [...this.#sums].flatMap(([event, kinds]) =>
      [...kinds].map(([kind, { samples, firstNs, lastNs }]) => ({
        kind,
        event: event.name,
        fromNs: firstNs,
        toNs: lastNs,
        count: samples,
      })),
    );
  }
}
