import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { layOutBoxes, visitBoxes } from './boxes.ts';

interface Node {
  self: number;
  hidden: number;
  callees: Node[];
}

const nodes = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.record({
    self: fc.nat(50),
    hidden: fc.nat(9),
    callees: fc.oneof({ maxDepth: 5 }, fc.constant<Node[]>([]), fc.array(tie('node'), { maxLength: 3 })),
  }),
})).node;

function columns(root: Node): {
  depth: number[];
  selfWeight: number[];
  hiddenWeight: number[];
  order: Node[];
} {
  const out = {
    depth: [] as number[],
    selfWeight: [] as number[],
    hiddenWeight: [] as number[],
    order: [] as Node[],
  };
  const add = (node: Node, depth: number) => {
    out.depth.push(depth);
    out.selfWeight.push(node.self);
    out.hiddenWeight.push(node.hidden);
    out.order.push(node);
    for (const callee of node.callees) add(callee, depth + 1);
  };
  add(root, 0);
  return out;
}

function weightOf(node: Node): number {
  return node.self + node.hidden + node.callees.reduce((sum, callee) => sum + weightOf(callee), 0);
}

test('the layout is what a walk over the tree gives', () => {
  fc.assert(
    fc.property(nodes, (root) => {
      const boxes = columns(root);
      const { parent, end, start, total } = layOutBoxes(boxes);
      const rowOf = new Map(boxes.order.map((node, row) => [node, row]));
      assert.deepEqual([...total], boxes.order.map(weightOf));
      for (const [row, node] of boxes.order.entries()) {
        let from = start[row]!;
        for (const callee of node.callees) {
          const at = rowOf.get(callee)!;
          assert.equal(parent[at], row);
          assert.equal(start[at], from);
          from += total[at]!;
        }
        const rows = columns(node).order.length;
        assert.equal(end[row], row + rows);
      }
    }),
  );
});

test('a zoomed box fills the width, its callers too, and no drawn box leaves its caller', () => {
  fc.assert(
    fc.property(nodes, fc.nat(), fc.integer({ min: 1, max: 400 }), (root, pick, width) => {
      const boxes = columns(root);
      const layout = layOutBoxes(boxes);
      const zoom = pick % boxes.depth.length;
      const drawn = new Map<number, [number, number]>();
      const covered: number[] = [];
      visitBoxes(layout, zoom, 10, width, (row, left, right, depth) => {
        assert.equal(depth, boxes.depth[row]);
        drawn.set(row, [left, right]);
        if (row <= zoom) {
          assert.deepEqual([left, right], [10, 10 + width]);
          return;
        }
        const caller = drawn.get(layout.parent[row]!)!;
        assert.ok(left >= caller[0] - 1e-9 && right <= caller[1] + 1e-9);
        assert.ok(left >= (covered[depth] ?? 10) - 1e-6, 'boxes of one depth overlap');
        covered[depth] = right;
      });
      assert.ok(drawn.has(zoom));
    }),
  );
});

test('of a hundred thousand boxes only those are visited that have a pixel', () => {
  const count = 100_000;
  const layout = layOutBoxes({
    depth: Array.from({ length: count }, (_, row) => (row === 0 ? 0 : 1)),
    selfWeight: new Array(count).fill(1),
    hiddenWeight: new Array(count).fill(0),
  });
  let visited = 0;
  visitBoxes(layout, 0, 0, 1000, () => visited++);
  assert.ok(visited <= 1001 && visited >= 999, String(visited));
});
