import { makeRandom } from './random.js';

/** Formulas such as `(3+x)*-4/(x-7)`. */
export function makeFormulas(count) {
  const random = makeRandom(7);
  const grow = (depth) => {
    if (depth === 0) return random(3) === 0 ? 'x' : String(1 + random(99));
    const left = grow(depth - 1);
    const right = grow(depth - 1);
    return `(${left}${'+-*/'[random(4)]}${random(5) === 0 ? '-' : ''}${right})`;
  };
  return Array.from({ length: count }, () => grow(3 + random(4)));
}

/** A parser by recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}. */
class FormulaParser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  parseSum() {
    let left = this.parseProduct();
    while (this.text[this.at] === '+' || this.text[this.at] === '-') {
      const operator = this.text[this.at++];
      left = { operator, left, right: this.parseProduct() };
    }
    return left;
  }

  parseProduct() {
    let left = this.parseFactor();
    while (this.text[this.at] === '*' || this.text[this.at] === '/') {
      const operator = this.text[this.at++];
      left = { operator, left, right: this.parseFactor() };
    }
    return left;
  }

  parseFactor() {
    const first = this.text[this.at];
    if (first === '-') {
      this.at++;
      return { operator: 'negate', left: this.parseFactor(), right: null };
    }
    if (first === '(') {
      this.at++;
      const inside = this.parseSum();
      this.at++;
      return inside;
    }
    if (first === 'x') {
      this.at++;
      return { operator: 'x', left: null, right: null };
    }
    return this.parseNumber();
  }

  parseNumber() {
    let value = 0;
    for (
      let code = this.text.charCodeAt(this.at);
      code >= 48 && code <= 57;
      code = this.text.charCodeAt(++this.at)
    ) {
      value = value * 10 + (code - 48);
    }
    return { operator: 'number', value, left: null, right: null };
  }
}

function evaluate(node, x) {
  switch (node.operator) {
    case 'number':
      return node.value;
    case 'x':
      return x;
    case 'negate':
      return -evaluate(node.left, x);
    case '+':
      return evaluate(node.left, x) + evaluate(node.right, x);
    case '-':
      return evaluate(node.left, x) - evaluate(node.right, x);
    case '*':
      return (evaluate(node.left, x) * evaluate(node.right, x)) % 1_000_003;
    default:
      return Math.trunc(evaluate(node.left, x) / (evaluate(node.right, x) || 1));
  }
}

export function solveFormulas(formulas, rounds) {
  let total = 0;
  for (let round = 0; round < rounds; round++) {
    for (const formula of formulas)
      total = (total + evaluate(new FormulaParser(formula).parseSum(), round)) % 1e9;
  }
  return total;
}
