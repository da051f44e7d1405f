import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseFormat } from '../../file-formats/perfdata/index.ts';
import { compilePrintFormat, parseKernelTexts } from './print-format.ts';
import { parsePrintFormat } from './print-format-parser.ts';

/** The fields of an invented tracepoint, and one record of it. */
function formatOf(print: string) {
  return parseFormat(
    'demo',
    `name: demo
ID: 1
format:
\tfield:int state;\toffset:0;\tsize:4;\tsigned:1;
\tfield:u8 small;\toffset:4;\tsize:1;\tsigned:0;
\tfield:unsigned long big;\toffset:8;\tsize:8;\tsigned:0;
\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int args[2];\toffset:24;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;
\tfield:long negative;\toffset:40;\tsize:8;\tsigned:1;

print fmt: ${print}
`,
  )!;
}

const RECORD = (() => {
  const bytes = new Uint8Array(56);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, -3, true);
  view.setUint8(4, 5);
  view.setBigUint64(8, 0xffff_8880_0000_1000n, true);
  bytes.set(new TextEncoder().encode('worker'), 16);
  view.setUint32(24, 7, true);
  view.setUint32(28, 9, true);
  view.setUint32(32, 48 | (6 << 16), true);
  view.setBigInt64(40, -11n, true);
  bytes.set(new TextEncoder().encode('disk0'), 48);
  return { view, offset: 0, size: bytes.length, le: true };
})();

function print(format: string, texts?: Map<bigint, string>): string | null {
  return compilePrintFormat(formatOf(format), texts)?.(RECORD) ?? null;
}

test('conversions, widths and lengths are those of printf', () => {
  for (const [format, expected] of [
    ['"state=%d small=%03d", REC->state, REC->small', 'state=-3 small=005'],
    [
      '"%u %x %lx %#lx", REC->state, REC->state, REC->state, REC->big',
      '4294967293 fffffffd fffffffffffffffd 0xffff888000001000',
    ],
    ['"[%-8s|%8s|%.3s]", REC->comm, REC->comm, REC->comm', '[worker  |  worker|wor]'],
    ['"%*d %.*s", 5, REC->small, 2, REC->comm', '    5 wo'],
    ['"%p %p %ps", REC->big, 0, (void *)REC->big', '0xffff888000001000 (nil) 0xffff888000001000'],
    ['"100%% %s" " and more", __get_str(name)', '100% disk0 and more'],
    ['"%08lx %hhd %c %o", 0x1fUL, 0x1ff, 65, 8', '0000001f -1 A 10'],
  ] as const) {
    assert.equal(print(format), expected, format);
  }
});

test('the quick way of whole fields prints what the general way prints', () => {
  const bytes = fc.uint8Array({ minLength: 48, maxLength: 48 });
  const argument = fc.constantFrom('REC->state', 'REC->small', 'REC->big', 'REC->args[1]', 'REC->negative');
  const flags = fc.constantFrom('', '-', '0', '3', '-12', '012', '#');
  const length = fc.constantFrom('', 'l', 'll', 'h', 'hh', 'z');
  const letter = fc.constantFrom('d', 'i', 'u', 'x', 'X', 'o');
  const all = fc.tuple(flags, length, letter).map((parts) => `%${parts.join('')}`);
  const some = fc.constantFrom(0, 0xff, 0x7f, 0x80);
  fc.assert(
    fc.property(
      all,
      argument,
      bytes,
      some,
      fc.integer({ min: 30, max: 48 }),
      (conversion, value, raw, fill, size) => {
        // Half of the values are small, or nearly so.
        if (raw[0]! % 2 === 0) raw.fill(fill, 1);
        const record = { view: new DataView(raw.buffer, raw.byteOffset, size), offset: 0, size, le: true };
        const quick = compilePrintFormat(formatOf(`"${conversion}", ${value}`))!;
        // What is added keeps it from the quick way: twice, the second from memory.
        const general = compilePrintFormat(formatOf(`"${conversion}", ${value} + 0 * REC->args[0]`))!;
        const remembered = compilePrintFormat(formatOf(`"${conversion}", ${value} + 0`))!;
        assert.equal(quick(record), general(record));
        assert.equal(remembered(record), general(record));
        assert.equal(remembered(record), general(record));
      },
    ),
    { numRuns: 500 },
  );
});

test('addresses of code have names and no widths, where there are any', () => {
  const named = (format: string) =>
    compilePrintFormat(
      formatOf(format),
      new Map(),
      (address, form) => `<${form} ${address.toString(16)}>`,
    )?.(RECORD);
  const big = 'ffff888000001000';
  assert.equal(
    named('"%pS %ps %pF|%pf %-40pB.", REC->big, REC->big, REC->big, (void *)REC->big, REC->big'),
    `<offset ${big}> <function ${big}> <offset ${big}>|<function ${big}> <offset ${big}>.`,
  );
  assert.equal(named('"%*pS %d", 5, REC->big, REC->small'), `<offset ${big}> 5`);
  assert.equal(print('"%pB %pF", REC->big, 0'), `0x${big} 0x0`);
});

test('expressions are C', () => {
  for (const [expression, expected] of [
    ['1 + 2 * 3 == 7 ? 10 : 20', '10'],
    ['(REC->small & 4) ? REC->args[1] : REC->args[0]', '9'],
    ['(unsigned char)0x1ff', '255'],
    ['((((0x1 | 0x2) + 1) << 1) - 1)', '7'],
    ['!REC->small || -1 < 0', '1'],
    // Of two 64-bit operands one unsigned makes the comparison so.
    ['(unsigned long)-4095 > REC->big', '1'],
    ['REC->negative < 5', '1'],
    ['REC->negative / 2', '-5'],
    ['~0 == -1', '1'],
    ['010 + 0x10', '24'],
    ['__get_dynamic_array_len(name)', '6'],
    ['__builtin_expect(!!(REC->small), 0)', '1'],
    ['1 / 0', '?'],
    ['some_kernel_variable + 1', '?'],
  ] as const) {
    assert.equal(print(`"%ld", ${expression}`), expected, expression);
  }
});

test('flags and symbols', () => {
  const rows = '{ 1, "S" }, { 4, "T" }, { 0, ((void *)0) }';
  assert.equal(print(`"%s", __print_flags(REC->small, "|", ${rows})`), 'S|T');
  assert.equal(print(`"%s", __print_flags(0x15, "|", ${rows})`), 'S|T|0x10');
  assert.equal(print(`"%s", __print_symbolic(REC->small, { 4, "four" }, { 5, "five" })`), 'five');
  assert.equal(print(`"%s", __print_symbolic(REC->state, { -3, "minus" })`), 'minus');
  assert.equal(print(`"%s", __print_symbolic(REC->small, { ONLY_IN_HEADERS, "x" })`), '0x5');
});

test('texts of the kernel, by their address', () => {
  const texts = parseKernelTexts(new TextEncoder().encode('0xffff888000001000 : "GPS"\nnonsense\n'));
  assert.equal(print('"%s", REC->big', texts), 'GPS');
  assert.equal(print('"%s", REC->big'), '0xffff888000001000');
});

test('what goes beyond is left to who prints the fields by name', () => {
  for (const format of [
    '"%pI4", REC->args',
    '"%s", __print_hex(__get_dynamic_array(name), 3)',
    '"%d", REC->missing',
    '"%d %d", REC->small',
    '"%d", REC->args[7]',
    '"%d", (REC->small',
    '"%y", 1',
    'REC->small',
    `"%d", ${'1+'.repeat(50_000)}1`,
    `"%d", ${'('.repeat(5000)}1${')'.repeat(5000)}`,
  ]) {
    assert.equal(compilePrintFormat(formatOf(format)), null, format.slice(0, 60));
  }
});

test('a record that is cut prints what it has', () => {
  const printer = compilePrintFormat(formatOf('"%d %lx %s", REC->state, REC->big, __get_str(name)'))!;
  assert.equal(printer({ ...RECORD, size: 8 }), '-3 ? ?');
});

test('no format makes it fail otherwise', () => {
  const words = fc.constantFrom(
    ...'( ) [ ] { } , ? : -> REC state 1 0x 08 "%d" "%" __print_flags __get_str << % ! - unsigned * "\\'.split(
      ' ',
    ),
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), (list) => {
      const format = list.join(' ');
      parsePrintFormat(format);
      compilePrintFormat({ ...formatOf(''), printFormat: format })?.(RECORD);
    }),
    { numRuns: 500 },
  );
});
