import { printable } from '@counterpoint/core/base';
import type { CallTreeAnswer, CategoryShare } from '@counterpoint/core/query';
import { percentText } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import { withoutKind } from './row-columns.ts';

type Tree = CallTreeAnswer & { javascript?: CategoryShare[] };

export function printTree(answer: Tree, withSamples: boolean, isQuiet: boolean, out: Output): void {
  if (isQuiet) {
    printNodes(answer, withSamples, out);
    return;
  }
  out.line(
    answer.direction === 'callees'
      ? '# Call tree, roots first, callees below; self is the share of the function itself'
      : '# Functions by their own time, callers below',
  );
  out.line('#');
  printNodes(answer, withSamples, out);
  if (answer.direction === 'callees' && answer.hiddenPercent >= 0.005) {
    out.line(
      `${percentText(answer.hiddenPercent).padStart(8)}  in branches below the limit (--percent-limit)`,
    );
  }
}

/**
 * Depth first without recursion: chains can be thousands of frames deep. A single
 * child goes on in the same column.
 */
function printNodes({ roots, direction, javascript }: Tree, withSamples: boolean, out: Output): void {
  const isDown = direction === 'callees';
  const work = roots.map((node) => ({ node, indent: '', mark: '' })).reverse();
  for (let item = work.pop(); item !== undefined; item = work.pop()) {
    const { node, indent, mark } = item;
    const self =
      isDown && node.selfPercent >= 0.005 ? out.style.dim(` self ${percentText(node.selfPercent)}`) : '';
    const samples = withSamples ? `  ${String(node.samples).padStart(10)}` : '';
    const share = percentText(node.percent).padStart(8) + samples;
    const isPlace = javascript === undefined || !/^\[J/.test(node.dso);
    const name = javascript === undefined ? node.name : withoutKind(node.name);
    const place = isPlace ? ` ${out.style.dim(`(${printable(node.dso)})`)}` : '';
    out.line(`${share}  ${indent}${mark}${printable(name)}${place}${self}`);
    const only = node.children.length === 1;
    const below = mark === '' || mark === '↑ ' ? indent : indent + (mark === '├─' ? '│ ' : '  ');
    for (let i = node.children.length - 1; i >= 0; i--) {
      const isLast = i === node.children.length - 1;
      work.push({
        node: node.children[i]!,
        indent: below,
        mark: only ? (isDown ? '' : '↑ ') : isLast ? '└─' : '├─',
      });
    }
  }
}
