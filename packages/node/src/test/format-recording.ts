/** Recordings with sampling formats, and what is in them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memorySource } from '@counterpoint/core/base';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import type { Sample } from '@counterpoint/core/records';
import type { RecordOptions } from '../linux/sample/record/index.ts';
import { record } from '../linux/sample/record/index.ts';
import { noTracepoints } from './rights.ts';

/** Why formats cannot be had here, or false. */
export const noFormats: string | false = noTracepoints;

/** Run the recording; its events in order, with their samples. Copies of an event have its name. */
export async function recordSamples(options: RecordOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-format-'));
  try {
    const output = join(folder, 'perf.data');
    const result = await record({ ...options, output });
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(output))));
    const samples = new Map<unknown, Sample[]>();
    for await (const { record: one, event } of readRecords(reader)) {
      if (!('sample' in one)) continue;
      assert.ok(event !== null, 'a sample belongs to an event');
      const list = samples.get(event) ?? [];
      samples.set(event, list);
      list.push(one.sample);
    }
    const events = reader.events.events.map((event) => ({
      name: event.name,
      samples: samples.get(event) ?? [],
    }));
    return { result, events };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
