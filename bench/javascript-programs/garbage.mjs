// Much garbage, short-lived and long-lived: `node garbage.mjs ROUNDS`.
class Tree {
  constructor(depth) {
    this.left = depth > 0 ? new Tree(depth - 1) : null;
    this.right = depth > 0 ? new Tree(depth - 1) : null;
  }

  count() {
    return this.left === null ? 1 : 1 + this.left.count() + this.right.count();
  }
}

function strings(n) {
  const parts = [];
  for (let i = 0; i < n; i++) parts.push(`${i}:${i * 7}`.toUpperCase());
  return parts.join(',').length;
}

function records(n) {
  const byKey = new Map();
  for (let i = 0; i < n; i++) byKey.set(`key${i % 997}`, { i, list: [i, i + 1], text: String(i) });
  return [...byKey.values()].map((one) => ({ ...one, sum: one.list[0] + one.list[1] })).length;
}

function spread(n) {
  let state = { a: 1, b: 2, c: { d: [1, 2, 3] } };
  for (let i = 0; i < n; i++) state = { ...state, a: i, c: { d: [...state.c.d.slice(-3), i] } };
  return state.a;
}

const kept = [];
let sum = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
  sum += new Tree(12).count() + strings(4000) + records(6000) + spread(6000);
  kept[round % 40] = new Tree(10);
}
console.log(sum, kept.length);
