import { type Counters, counters } from '../packages/node/src/linux/count/self-monitoring/index.ts';

const ROUNDS = 40;

/** Nanoseconds of one `readInto` of each: the least of rounds in turn, as what disturbs only adds. */
export function costNs(all: readonly Counters[], readsPerRound: number): number[] {
  const out = all.map(({ events }) => new Float64Array(1 + events.length));
  const least = all.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    all.forEach((own, i) => {
      const into = out[i]!;
      const begin = process.hrtime.bigint();
      for (let k = 0; k < readsPerRound; k++) own.readInto(into);
      least[i] = Math.min(least[i]!, Number(process.hrtime.bigint() - begin) / readsPerRound);
    });
  }
  return least;
}

/** Page reads beside read(2) of the same events, on a machine with counters. */
export function hardwareCosts(events: readonly string[], readsPerRound: number): void {
  using page = counters(events);
  using kernel = counters(events, { access: 'read' });
  const { source } = page.read();
  const [ours, peer] = costNs([page, kernel], readsPerRound);
  console.log(
    `${events.join(', ')}: ${source === 'page' ? 'page read' : 'NOT read by the page'} ${ours!.toFixed(0)} ns, read(2) ${peer!.toFixed(0)} ns, ratio ${(ours! / peer!).toFixed(2)}`,
  );
}
