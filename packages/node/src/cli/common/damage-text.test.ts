import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { damageLine, hasDamageWords } from './damage-text.ts';

const CORE = new URL('../../../../core/src/', import.meta.url);
/** Damage of other files than recordings: a note says it, with words of its own. */
const OF_OTHER_FILES = /^(?:elf|dwarf|kallsyms|jitdump|perf-map)-/;

/** Every kind that the readers of recordings and histories count, from their sources. */
function damageKinds(): Set<string> {
  const kinds = new Set<string>();
  for (const name of readdirSync(CORE, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || /\.(?:test|fuzz)\.ts$|^test\//.test(name)) continue;
    const source = readFileSync(new URL(name, CORE), 'utf8');
    const calls = source.matchAll(/(?:\bdamage\.add|\bDamage\.add|#damage\.add)\(([^;]*?),/g);
    for (const [, argument] of calls)
      for (const [, kind] of argument!.matchAll(/['`]([a-z]+(?:-[a-z]+)+)/g)) kinds.add(kind!);
    for (const [, kind] of source.matchAll(/cutCode: '([a-z-]+)'/g)) kinds.add(kind!);
  }
  return kinds;
}

test('every kind of damage that a recording can have is told in words', () => {
  const kinds = [...damageKinds()].filter((kind) => !OF_OTHER_FILES.test(kind));
  for (const kind of ['bad-record-size', 'feature-past-end', 'aux-data-cut', 'bad-slot', 'short-count'])
    assert.ok(kinds.includes(kind), kind);
  assert.deepEqual(
    kinds.filter((kind) => !hasDamageWords(kind)),
    [],
  );
});

test('once has no number; a part has its name; what is not known is told as it is', () => {
  const lines = [
    { code: 'bad-record-size', count: 1, firstOffset: 4096 },
    { code: 'bad-record-size', count: 3000, firstOffset: 4096, file: 'data.2' },
    { code: 'feature-past-end:BUILD_ID', count: 1, firstOffset: 200 },
    { code: 'of-tomorrow', count: 2, firstOffset: 7 },
  ].map(damageLine);
  assert.deepEqual(lines, [
    'damage: a record has an impossible size, at byte 4096',
    'damage: a record has an impossible size, 3,000 times, the first at byte 4096 of data.2',
    'damage: a header section reaches beyond the end of the file (BUILD_ID), at byte 200',
    'damage: of-tomorrow, 2 times, the first at byte 7',
  ]);
});
