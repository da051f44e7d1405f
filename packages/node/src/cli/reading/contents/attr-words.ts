import type { RecordedEvent } from '@counterpoint/core/perfdata';
import { attrFields } from '../../common/attr-fields.ts';
import { bitNames } from './bit-names.ts';

/** As the file has them: `size` is what its recorder gave. */
export function recordedFields({ attr }: RecordedEvent): Record<string, number | string> {
  return { ...attrFields(attr), size: attr.size };
}

/** perf's name of a word that has several; which one it is the event's type tells. */
const SHARED_WORDS: Readonly<Record<string, string>> = {
  sample_freq: '{ sample_period, sample_freq }',
  sample_period: '{ sample_period, sample_freq }',
  wakeup_events: '{ wakeup_events, wakeup_watermark }',
  wakeup_watermark: '{ wakeup_events, wakeup_watermark }',
  bp_addr: '{ bp_addr, config1 }',
  config1: '{ bp_addr, config1 }',
  bp_len: '{ bp_len, config2 }',
  config2: '{ bp_len, config2 }',
};

/** Fields that are not 0, in perf's words. */
export function attrWords(event: RecordedEvent): [name: string, value: string][] {
  return Object.entries(recordedFields(event))
    .filter(([, value]) => Number(value) !== 0)
    .map(([name, value]) => [SHARED_WORDS[name] ?? name, bitNames(name, value) ?? `${value}`]);
}
