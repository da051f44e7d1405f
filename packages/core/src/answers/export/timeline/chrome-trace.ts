import type { Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { VENDOR_KEY, vendorFacts } from '../loss-words.ts';
import { type ExportOptions, planExport } from '../options.ts';
import { labelFrames } from '../stacks/frame-labels.ts';
import { buildLabelTree } from '../stacks/label-tree.ts';
import { sliceEdges } from './call-slices.ts';
import { threadNames } from './thread-names.ts';

const NS_PER_US = 1000;

/**
 * Trace Event Format (JSON Object Format, events of phases B, E and M), which chrome://tracing, Perfetto and
 * other viewers read. Times are those of the recording, in microseconds with three digits.
 */
export function* writeChromeTrace(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const plan = planExport(profile, options, 'period');
  const { labels, ofFrame } = labelFrames(profile);
  const tree = buildLabelTree(profile, ofFrame);
  const { threads } = profile;
  const baseUs = profile.baseTimeNs / BigInt(NS_PER_US);
  const baseRestNs = Number(profile.baseTimeNs % BigInt(NS_PER_US));
  const out = new ByteWriter();
  out.text('{"displayTimeUnit":"ns","otherData":');
  out.json({ title: plan.title, [VENDOR_KEY]: vendorFacts(profile, plan.event.name) });
  out.text(',"traceEvents":[');
  let isFirst = true;
  const begin = (phase: string, thread: number) => {
    out.text(isFirst ? '\n' : ',\n');
    isFirst = false;
    out.text(`{"ph":"${phase}","pid":${threads.pid.at(thread)},"tid":${threads.tid.at(thread)}`);
  };
  for (const { thread, isProcess, name } of threadNames(profile, plan)) {
    begin('M', thread);
    out.text(`,"name":"${isProcess ? 'process_name' : 'thread_name'}","args":{"name":`);
    out.jsonString(name);
    out.text('}}');
  }
  for (const { thread, timeNs, node, isBegin } of sliceEdges(profile, plan, tree)) {
    begin(isBegin ? 'B' : 'E', thread);
    const ns = Math.round(timeNs) + baseRestNs;
    const us = Math.floor(ns / NS_PER_US);
    out.text(`,"ts":${baseUs + BigInt(us)}.${String(ns - us * NS_PER_US).padStart(3, '0')}`);
    if (isBegin) {
      const { text, binary } = labels[tree.label[node]!]!;
      const path = profile.binaries[binary]?.path ?? '';
      out.text(',"name":');
      out.jsonString(text);
      if (path !== '') {
        out.text(',"cat":');
        out.jsonString(path);
      }
    }
    out.text('}');
    if (out.isFull) yield out.take();
  }
  out.text('\n]}\n');
  yield out.take();
}
