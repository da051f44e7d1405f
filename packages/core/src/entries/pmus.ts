/** What a PMU of each family has: events, counters, and what each event may be on. */
export * from '../pmus/index.ts';
