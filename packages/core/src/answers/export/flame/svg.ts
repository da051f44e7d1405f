import type { Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { weightText } from '../numbers.ts';
import { type ExportOptions, planExport } from '../options.ts';
import { mergeCompared } from './compared-profiles.ts';
import { type FlameFacts, flameFacts, type RecordingTotals, writeFlameData } from './flame-data.ts';
import { buildFlameTree, type FlameTree } from './flame-tree.ts';
import { PAGE_SCRIPT } from './generated/page-script.ts';
import { shadesOf } from './shades.ts';
import { drawStill, STILL_WIDTH, xmlText } from './still.ts';
import { STYLE } from './style.ts';

/**
 * An interactive flame graph in one file that needs nothing else: no network, no font, no other script.
 *
 *   <svg>
 *     style            light and dark
 *     #still           the first view, drawn: what <img>, mail and image viewers show
 *     #flame-data      boxes as JSON columns
 *     script           draws the visible boxes from the data; removes #still
 *   </svg>
 */
export function* writeFlameSvg(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  if (options.before !== undefined) {
    yield* writeComparedSvg(options.before, profile, options);
    return;
  }
  let plan = planExport(profile, options, 'period');
  let tree = buildFlameTree(profile, plan, options.minimumPercent);
  if (tree.totalWeight === 0 && tree.totalSamples > 0) {
    // Samples that stand for no event at all still have a shape.
    plan = planExport(profile, { ...options, weight: 'samples' }, 'samples');
    tree = buildFlameTree(profile, plan, options.minimumPercent);
  }
  const facts = flameFacts(profile, plan, tree, options.orientation ?? 'flame');
  yield* writePage(tree, facts);
}

/** Both recordings in one picture: widths are means of both shares, colours say what grew and what shrank. */
function* writeComparedSvg(
  before: Profile,
  after: Profile,
  options: ExportOptions,
): Generator<Uint8Array<ArrayBuffer>> {
  const own = planExport(after, options, 'period');
  const compared = mergeCompared(before, after, own.event);
  const plan = { ...own, eventIndex: 0, weight: 'period', durationNs: 0 } as const;
  const tree = buildFlameTree(compared.merged, plan, options.minimumPercent);
  tree.shade = shadesOf(tree, compared.before, compared.after);
  const facts = flameFacts(compared.merged, plan, tree, options.orientation ?? 'flame');
  const sides = { before: totalsOnly(compared.before), after: totalsOnly(compared.after) };
  yield* writePage(tree, {
    ...facts,
    command: comparedText(sides.before, sides.after, own.unit),
    facts: `${own.event.name} · width: the mean of both shares · grey: no more than chance`,
    weightPerSample: null,
    compared: sides,
  });
}

function totalsOnly({ weight, samples }: RecordingTotals): RecordingTotals {
  return { weight, samples };
}

function comparedText(before: RecordingTotals, after: RecordingTotals, unit: string): string {
  const text = ({ weight, samples }: RecordingTotals) =>
    `${weightText(samples, 'samples')}${unit === 'samples' ? '' : `, ${weightText(weight, unit)}`}`;
  return `before: ${text(before)} · after: ${text(after)}`;
}

function* writePage(tree: FlameTree, facts: FlameFacts): Generator<Uint8Array<ArrayBuffer>> {
  const { height, svg } = drawStill(tree, facts);
  const out = new ByteWriter();
  out.text(
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<svg xmlns="http://www.w3.org/2000/svg" width="${STILL_WIDTH}" height="${height}" ` +
      `viewBox="0 0 ${STILL_WIDTH} ${height}" role="img">\n` +
      `<title>${xmlText(facts.title)} · flame graph</title>\n` +
      `<desc>${xmlText(`${facts.facts}. ${facts.loss}.`)}</desc>\n` +
      `<style>${STYLE}</style>\n`,
  );
  out.text(`<g id="still">${svg}</g>\n`);
  yield out.take();
  out.text('<script type="application/json" id="flame-data">');
  yield* writeFlameData(out, facts, tree);
  out.text(`</script>\n<script><![CDATA[${PAGE_SCRIPT}]]></script>\n</svg>\n`);
  yield out.take();
}
