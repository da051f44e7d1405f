// What `bench javascript` records: nearly all of its time is in `hot`, which asks a builtin of V8 for each
// property. `node javascript-truth.mjs ROUNDS`.
const list = Array.from({ length: 40 }, (_, i) => {
  const one = {};
  for (let j = 0; j < i % 13; j++) one[`p${j}`] = j;
  one.x = i;
  return one;
});

function hot(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum = (sum * 31 + list[i % 40].x) | 0;
  return sum;
}

function caller(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum ^= hot(40);
  return sum;
}

function outer(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) sum ^= caller(50);
  return sum;
}

outer(Number(process.argv[2]));
