/** Numbers, labels and sums of the two: `17`, `0x11`, `loop`, `loop+2`, `0x1000-1`. */
export type Labels = ReadonlyMap<string, bigint>;

const TERM = /^([+-]?)(0x[0-9a-f]+|[0-9]+|[a-z_][a-z0-9_.]*)/i;

/** The value as unsigned 64 bits, or what is wrong with it. */
export function evaluate(text: string, labels: Labels): bigint | string {
  let rest = text.replaceAll(' ', '');
  if (rest === '') return 'a value is missing';
  let sum = 0n;
  for (let isFirst = true; rest !== ''; isFirst = false) {
    const match = TERM.exec(rest);
    if (match === null || (!isFirst && match[1] === '')) return `'${text}' is no value`;
    const [whole, sign, term] = match;
    const value = /^[0-9]/.test(term!) ? BigInt(term!) : labels.get(term!);
    if (value === undefined) return `there is no label '${term}'`;
    sum += sign === '-' ? -value : value;
    rest = rest.slice(whole.length);
  }
  if (sum >= 1n << 64n || sum < -(1n << 63n)) return `'${text}' has more than 64 bits`;
  return BigInt.asUintN(64, sum);
}
