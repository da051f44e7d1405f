/** Mutated names: nothing is thrown, and neither the time nor the text grows beyond its bound. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Random } from '../../../test/random.ts';
import { demangle } from './demangle.ts';

const names = readFileSync(new URL('fixtures/names.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');

/** Pieces of the grammars: they go deeper than random letters. */
const PIECES =
  'S_ S0_ SZ_ St Sa Ss T_ T0_ TL0__ Dp DT Do DO cv I J E X L N Z K V R O P F M A3_ A_ Ul Ut_ E_ fp_ fL0p_ sr C1 D1 CI1 B1a cl dt tl il nw_ pi fl fL sZ sP Li1E LDnE _Z1fv d_ s_0 Q rq .isra.0 @plt B_ B2_ Bzzz_ s_ u3a_b G_ Kj1_ KRe61_ DE L_ L0_ FUKC p M X Y C1a TEE 17h05af221e174051e9E $LT$ $u7b$ ..'.split(
    ' ',
  );

function mutate(random: Random, name: string): string {
  const at = random.below(name.length + 1);
  const to = at + random.below(8);
  switch (random.below(6)) {
    case 0:
      return (
        name.slice(0, at) +
        String.fromCharCode(random.below(random.oneIn(20) ? 0x10000 : 0x80)) +
        name.slice(at + 1)
      );
    case 1:
      return name.slice(0, at) + name.slice(to);
    case 2:
      return name.slice(0, at) + random.pick(PIECES) + name.slice(at);
    case 3:
      return (
        name.slice(0, at) +
        name.slice(at, to).repeat(random.below(random.oneIn(10) ? 3000 : 4)) +
        name.slice(to)
      );
    case 4: {
      const other = random.pick(names);
      const start = random.below(other.length);
      return name.slice(0, at) + other.slice(start, start + random.below(30)) + name.slice(at);
    }
    default:
      return name.slice(0, at);
  }
}

test('mutated names', () => {
  const seconds = Number(process.env.FUZZ_SECONDS ?? 1);
  const seed = process.env.FUZZ_SECONDS === undefined ? 1 : Date.now() | 1;
  const random = new Random(seed);
  const end = performance.now() + seconds * 1000;
  do {
    let name = random.pick(names);
    for (let count = 1 + random.below(4); count > 0; count--) name = mutate(random, name);
    const start = performance.now();
    for (const parameters of [false, true]) {
      const readable = demangle(name, { parameters });
      assert.equal(typeof readable, 'string');
      assert.ok(readable.length <= Math.max(name.length, 300_000), `seed ${seed}: ${name}`);
    }
    const ms = performance.now() - start;
    assert.ok(ms < 1000, `seed ${seed}: ${ms} ms for ${name}`);
    // Wall time: a fuzzer runs for so long.
  } while (performance.now() < end);
});
