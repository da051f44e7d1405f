/**
 * Makes `packages/core/src/format/records/generated/records.ts` from `format/abi/record-table.ts`:
 * an interface, a reader and a writer for each record, and the tables that find them by type. What a
 * record and its fields mean comes from `format/abi/record-words.tsv`. `--check` fails where the
 * file is not what would be made.
 */
import { readFileSync } from 'node:fs';
import * as abi from '../packages/core/src/format/abi/index.ts';
import { RECORD_TABLE, recordTypeName, STRUCTS } from '../packages/core/src/format/abi/index.ts';
import { wrapComments } from './wrap-comments-text.ts';
import { writeGenerated } from './write-generated.ts';

const TARGET = 'packages/core/src/format/records/generated/records.ts';

const WORDS = 'packages/core/src/format/abi/record-words.tsv';

/**
 * Words by `RECORD FIELD`, with an empty field for the record itself. Each row is used, or it is a mistake.
 */
const words = new Map(wordRows());
const unusedWords = new Set(words.keys());

function* wordRows(): Generator<[string, string]> {
  const lines = readFileSync(WORDS, 'utf8').split('\n');
  for (const line of lines.filter((text) => text !== '' && !text.startsWith('#')).slice(1)) {
    const [record, field, text, ...more] = line.split('\t');
    if (record === undefined || field === undefined || !text || more.length > 0)
      fail(`${WORDS}: a row has a record, a field and words: ${line}`);
    yield [`${record} ${field}`, text];
  }
}

function wordsOf(record: string, field = ''): string {
  const key = [`${record} ${field}`, `* ${field}`].find((name) => words.has(name));
  if (key === undefined) fail(`${WORDS} has no words for ${record}${field && `.${field}`}`);
  unusedWords.delete(key);
  return words.get(key)!;
}

const WHEN = {
  'if-build-id': ' With PERF_RECORD_MISC_MMAP_BUILD_ID.',
  'unless-build-id': ' Without PERF_RECORD_MISC_MMAP_BUILD_ID.',
} as const;

const TS_TYPES: Record<string, string> = {
  u8: 'number',
  u16: 'number',
  u32: 'number',
  i32: 'number',
  f64: 'number',
  u64: 'bigint',
  text: 'string',
  bytes: 'Uint8Array',
  u64list: 'bigint[]',
};

function tsType(kind: string): string {
  const [base, argument] = kind.split(':') as [string, string | undefined];
  if (base === 'chars') return 'string';
  if (base === 'list') return `${argument}[]`;
  return TS_TYPES[base] ?? fail(`unknown kind ${kind}`);
}

function readCall(kind: string): string {
  const [base, argument] = kind.split(':') as [string, string | undefined];
  if (base === 'list') return `reader.list(read${argument}, ${structSize(argument!)})`;
  if (base === 'chars') return `reader.chars(${argument})`;
  if (base === 'text') return 'readText(reader, record)';
  if (base === 'bytes') return argument === undefined ? 'reader.rest()' : `reader.bytes(${argument})`;
  return `reader.${base}()`;
}

function writeCall(kind: string, value: string): string {
  const [base, argument] = kind.split(':') as [string, string | undefined];
  if (base === 'list') return `writer.list(${value}, write${argument})`;
  if (base === 'chars') return `writer.chars(${value}, ${argument})`;
  if (base === 'bytes')
    return argument === undefined ? `writer.rest(${value})` : `writer.bytes(${value}, ${argument})`;
  if (base === 'text') return `writer.text(${value}, record.textArea)`;
  return `writer.${base}(${value})`;
}

function structSize(name: string): number {
  const sizes: Record<string, number> = { u32: 4, u64: 8 };
  return STRUCTS[name]!.reduce((sum, [, kind]) => sum + (sizes[kind] ?? Number(kind.split(':')[1])), 0);
}

function fail(message: string): never {
  throw new Error(message);
}

const out: string[] = [];
const constants = RECORD_TABLE.map((row) => `PERF_RECORD_${row.type}`);
out.push(
  `// Generated from abi/record-table.ts by scripts/gen-records.ts. Do not edit: change the table and run the script.`,
);
out.push(
  `import { ${[...constants, 'PERF_RECORD_MISC_MMAP_BUILD_ID'].sort().join(', ')} } from '../../abi/index.ts';`,
);
out.push(`import type { BodyReader } from '../body-reader.ts';`);
out.push(`import type { BodyWriter } from '../body-writer.ts';`);
out.push(`import type { RecordBase } from '../record-base.ts';`);
out.push(`import { readText } from '../text-area.ts';\n`);

for (const [name, fields] of Object.entries(STRUCTS)) {
  out.push(
    `/** ${wordsOf(name)} */\nexport interface ${name} {\n${fields.map(([field, kind]) => `  /** ${wordsOf(name, field)} */\n  ${field}: ${tsType(kind)};`).join('\n')}\n}\n`,
  );
  out.push(
    `function read${name}(reader: BodyReader): ${name} {\n  return { ${fields.map(([field, kind]) => `${field}: ${readCall(kind)}`).join(', ')} };\n}\n`,
  );
  out.push(
    `function write${name}(writer: BodyWriter, item: ${name}): void {\n${fields.map(([field, kind]) => `  ${writeCall(kind, `item.${field}`)};`).join('\n')}\n}\n`,
  );
}

for (const row of RECORD_TABLE) {
  const type = abi[`PERF_RECORD_${row.type}` as keyof typeof abi] as number;
  const hasText = row.fields.some(([, kind]) => kind === 'text');
  const label = `PERF_RECORD_${row.type}`;
  out.push(`/** ${wordsOf(row.name)} ${label} (${type}), \`${recordTypeName(type)}\` in statistics. */`);
  out.push(
    row.fields.length === 0
      ? `export interface ${row.name}Record extends RecordBase<typeof ${label}> {}\n`
      : `export interface ${row.name}Record extends RecordBase<typeof ${label}> {`,
  );
  for (const [field, kind, when] of row.fields) {
    out.push(`  /** ${wordsOf(row.name, field)}${when === undefined ? '' : WHEN[when]} */`);
    out.push(`  ${field}${when === undefined ? '' : '?'}: ${tsType(kind)};`);
  }
  if (hasText)
    out.push(
      '  /** The text as it stood, where it was not in the usual form (padding, not UTF-8). Written again while it fits the text. */\n  textArea?: Uint8Array;',
    );
  if (row.fields.length > 0) out.push('}\n');

  out.push(
    `/** Reads the fields of ${label}, for \`decodeRecordAs\`. Fields beyond the end of the record are 0 or empty. */`,
  );
  out.push(`export function read${row.name}(reader: BodyReader, misc: number): ${row.name}Record {`);
  const plain = row.fields.every(([, , when]) => when === undefined);
  if (plain && !hasText) {
    out.push(
      `  return { type: PERF_RECORD_${row.type}, misc, ${row.fields.map(([field, kind]) => `${field}: ${readCall(kind)}, `).join('')}tail: reader.tail() };`,
    );
  } else {
    out.push(`  const record = { type: PERF_RECORD_${row.type}, misc } as ${row.name}Record;`);
    for (const [field, kind, when] of row.fields) {
      const condition =
        when === undefined
          ? ''
          : `if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ${when === 'if-build-id' ? '!==' : '==='} 0) `;
      out.push(`  ${condition}record.${field} = ${readCall(kind)};`);
    }
    out.push('  record.tail = reader.tail();\n  return record;');
  }
  out.push('}\n');

  out.push(`/** Appends the fields of ${label} and its tail; \`encodeRecord\` adds header and trailer. */`);
  out.push(`export function write${row.name}(writer: BodyWriter, record: ${row.name}Record): void {`);
  for (const [field, kind, when] of row.fields) {
    const condition =
      when === undefined
        ? ''
        : `if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ${when === 'if-build-id' ? '!==' : '==='} 0) `;
    const fallback = kind === 'u64' ? '0n' : kind.startsWith('bytes') ? 'new Uint8Array()' : '0';
    out.push(
      `  ${condition}${writeCall(kind, when === undefined ? `record.${field}` : `record.${field} ?? ${fallback}`)};`,
    );
  }
  out.push('  writer.rest(record.tail);\n}\n');
}

out.push('/** Every record of this book but samples, told apart by `type`. */');
out.push(`export type TableRecord =\n${RECORD_TABLE.map((row) => `  | ${row.name}Record`).join('\n')};\n`);
out.push('/** Reads the fields of one type of record from a reader that stands behind its header. */');
out.push('export type BodyReadFunction = (reader: BodyReader, misc: number) => TableRecord;');
out.push('/** Appends the fields and the tail of one type of record to a writer that has its header. */');
out.push('export type BodyWriteFunction = (writer: BodyWriter, record: never) => void;\n');
out.push('/** The `readX` of each type of record, by the number of the type. */');
out.push(
  `export const READERS: ReadonlyMap<number, BodyReadFunction> = new Map<number, BodyReadFunction>([\n${RECORD_TABLE.map((row) => `  [PERF_RECORD_${row.type}, read${row.name}],`).join('\n')}\n]);\n`,
);
out.push('/** The `writeX` of each type of record, by the number of the type. */');
out.push(
  `export const WRITERS: ReadonlyMap<number, BodyWriteFunction> = new Map<number, BodyWriteFunction>([\n${RECORD_TABLE.map((row) => `  [PERF_RECORD_${row.type}, write${row.name}],`).join('\n')}\n]);`,
);

if (unusedWords.size > 0) fail(`${WORDS}: words for what no record has: ${[...unusedWords].join(', ')}`);
writeGenerated(
  TARGET,
  wrapComments(out.join('\n')),
  'format/abi/record-table.ts and abi/record-words.tsv say. Run: npx tsx scripts/gen-records.ts',
);
