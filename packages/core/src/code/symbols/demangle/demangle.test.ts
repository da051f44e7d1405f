import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertQuick } from '../../../test/assert-quick.ts';
import { demangle } from './demangle.ts';
import { decodePunycode } from './rust/punycode.ts';

/** `name, as perf prints it, as c++filt prints it`, written by fixtures/make.sh. */
const table = readFileSync(new URL('fixtures/names.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t') as [name: string, plain: string, full: string]);

test('names of the table read as c++filt reads them', () => {
  assert.ok(table.length > 300);
  for (const [name, plain, full] of table) {
    assert.equal(demangle(name), plain);
    assert.equal(demangle(name, { parameters: true }), full);
  }
});

test('parameters and verbosity can be asked for one by one', () => {
  const name = '_ZN1A1fERKSs';
  const long = 'std::basic_string<char, std::char_traits<char>, std::allocator<char> >';
  assert.equal(demangle(name), 'A::f');
  assert.equal(demangle(name, { parameters: true }), `A::f(${long} const&)`);
  assert.equal(demangle(name, { parameters: true, verbose: false }), 'A::f(std::string const&)');
  assert.equal(demangle('_Z1fISsEvv', { verbose: true }), `f<${long} >`);
  const rust = '_ZN3foo3bar17h05af221e174051e9E';
  assert.equal(demangle(rust), 'foo::bar');
  assert.equal(demangle(rust, { verbose: true }), 'foo::bar::h05af221e174051e9');
  assert.equal(demangle(rust, { parameters: true, verbose: false }), 'foo::bar');
});

test('what stands after @ is kept', () => {
  assert.equal(demangle('_ZN1A1fEv@plt'), 'A::f@plt');
  assert.equal(demangle('_ZNSt6localeC1Ev@@GLIBCXX_3.4'), 'std::locale::locale@@GLIBCXX_3.4');
  assert.equal(demangle('_ZN1A1fEi@GLIBCXX_3.4', { parameters: true }), 'A::f(int)@GLIBCXX_3.4');
  assert.equal(demangle('_RNvC1a1b@plt'), 'a::b@plt');
  assert.equal(demangle('memcpy@GLIBC_2.2.5'), 'memcpy@GLIBC_2.2.5');
  assert.equal(demangle('_ZN@plt'), '_ZN@plt');
});

test('identifiers beyond ASCII are counted in bytes of UTF-8', () => {
  assert.equal(demangle('_Z6größi', { parameters: true }), 'größ(int)');
  assert.equal(demangle('_ZN6größ5ñu_1Ev'), 'größ::ñu_1');
  assert.equal(demangle('_Z4größi', { parameters: true }), '_Z4größi');
  assert.equal(demangle('_Zg\ud800'), '_Zg\ud800');
});

test('names that are not mangled, or broken, come back unchanged', () => {
  const names = [
    '',
    '_',
    'main',
    '__libc_start_main',
    '_Z',
    '_R',
    '_ZN',
    '_ZN3fooE3',
    '_Z3fo',
    '_Z1fS_',
    '_Z1fv.',
    '_Z1fIiEvT0_',
    '_GLOBAL__sub_I_main.cc',
    '_RNvB_1b',
    '_RNvC1a',
    '_RNvC1a1b$',
    '_RNvC1au3a_1',
    '_RINvC1a1bRL0_eE',
    '_D3foo',
  ];
  for (const name of names) assert.equal(demangle(name, { parameters: true }), name);
});

test('a broken parameter list does not matter where none is printed', () => {
  assert.equal(demangle('_ZN1A1fE~'), 'A::f');
  assert.equal(demangle('_ZN1A1fE~', { parameters: true }), '_ZN1A1fE~');
});

/**
 * Newer than binutils 2.40, or of Clang only: c++filt leaves them as they are.
 * Checked by hand and against LLVM 22.
 */
const BEYOND_BINUTILS: readonly (readonly [name: string, full: string])[] = [
  ['_Z1fIiEvvQ1CIT_E', 'void f<int>() requires C<int>'],
  ['_Z1fIiQ1CIT_EEvv', 'void f<int>()'],
  ['_Z1fIiEvDTrqXLi1EEE', 'void f<int>(decltype (requires { 1; }))'],
  [
    '_Z1fIiEvDTrQT__XLi1ENR1CTS1_Q1DEE',
    'void f<int>(decltype (requires (int) { {1} noexcept -> C; typename C; requires D; }))',
  ],
  ['_Z1fITk1CiEvv', 'void f<int>()'],
  ['_Z1fITnDaLi1EEvv', 'void f<1>()'],
  ['_ZZ1fvENKUlTk1CT_E_clIiEEDaS0_', 'auto f()::{lambda<C $T0>($T0)#1}::operator()<int>(int) const'],
  [
    '_ZZ1fvENKUlTyQ1CIT_ET_E_clIiEEDaS0_',
    'auto f()::{lambda<typename $T0> requires C<$T0> ($T0)#1}::operator()<int>(int) const',
  ],
  ['_ZN1AF1gEv', 'A::friend g()'],
  ['_ZNH1A1gEv', 'A::g()'],
  ['_Z1fDk1CDK1C', 'f(C auto, C decltype(auto))'],
  ['_Z1fTs1ATu1BTe1C', 'f(struct A, union B, enum C)'],
  ['_Z1fDB8_DU8_', 'f(_BitInt(8), unsigned _BitInt(8))'],
  ['_Z1fu3fooIiE', 'f(foo(int))'],
  ['_Z1fIiEDTcl1gfL0p_EET_', 'decltype (g({parm#1})) f<int>(int)'],
  ['_Z1fIiEvDTnxLi1EE', 'void f<int>(decltype (noexcept(1)))'],
  ['_Z1fIiEvDTtiT_E', 'void f<int>(decltype (typeid (int)))'],
  ['_Z1fIiEvDTteLi1EE', 'void f<int>(decltype (typeid (1)))'],
  ['_Z1fIiEvDTptfp_dn1AE', 'void f<int>(decltype ({parm#1}->(~A)))'],
  ['_Z1fILA4_KcEEvv', 'void f<"<char const [4]>">()'],
  ['_Z1fIXsoi1x4_pEEEvv', 'void f<x.<int at offset 4> >()'],
  ['_Z1fIXmcM1AiadL_ZNS0_1xEE8EEEvv', 'void f<(int A::*)(&A::x)>()'],
  ['_Z1fIUlvE_EvT_', 'void f<{lambda()#1}>({lambda()#1})'],
  ['_ZL3tab.0', 'tab [clone .0]'],
  ['_ZN1A3tabE.llvm.123', 'A::tab [clone .llvm.123]'],
  ['_ZGRN1A1xE_', 'reference temporary #0 for A::x'],
  ['_RINvC1a1bKo1ffffffffffffffff_E', 'a[0]::b::<0x1ffffffffffffffff: u128>'],
  ['_RINvC1a1bKc27_E', "a[0]::b::<'\\'': char>"],
  ['_RINvC1a1bKc2202_E', "a[0]::b::<'∂': char>"],
  ['_RINvC1a1bKRe616263_E', 'a[0]::b::<"abc">'],
  ['_RINvC1a1bKe616263_E', 'a[0]::b::<{*"abc"}>'],
  ['_RINvC1a1bKRAh1_h2_EE', 'a[0]::b::<{&[1: u8, 2: u8]}>'],
  ['_RINvC1a1bKTh1_EE', 'a[0]::b::<{(1: u8,)}>'],
  ['_RINvC1a1bKVNtC1a1XS1yh1_EE', 'a[0]::b::<{a[0]::X { y: 1: u8 }}>'],
  ['_ZN9$u2764$ab3bar17h05af221e174051e9E', '❤ab::bar::h05af221e174051e9'],
];

test('constructs newer than the c++filt at hand', () => {
  for (const [name, full] of BEYOND_BINUTILS) assert.equal(demangle(name, { parameters: true }), full);
});

test('Punycode decodes, and refuses what is none', () => {
  assert.equal(decodePunycode('gdel', '5qa'), 'gödel');
  assert.equal(decodePunycode('', 'ihqwcrb4cv8a8dqg056pqjye'), '他们为什么不说中文');
  assert.equal(decodePunycode('bcher', 'kva'), 'bücher');
  assert.equal(decodePunycode('a', ''), null);
  assert.equal(decodePunycode('a', 'A'), null);
  assert.equal(decodePunycode('', '9'), null);
  assert.equal(decodePunycode('', '99999999999999999999'), null);
});

/** A name of `count` parts of which each repeats the last one twice. */
function bomb(count: number): string {
  const sequence = (index: number) => (index < 0 ? '' : index.toString(36).toUpperCase());
  let name = '_Z1f1AIiiE';
  for (let i = 0; i < count; i++) name += `1BIS${sequence(2 * i)}_S${sequence(2 * i)}_E`;
  return name;
}

test('names that would grow without bound are left alone, quickly', async () => {
  const deep = (open: string, inner: string, close: string, count: number) =>
    open.repeat(count) + inner + close.repeat(count);
  const names = [
    bomb(64),
    `_Z1f${deep('P', 'i', '', 60_000)}`,
    `_Z1f${deep('1AI', 'i', 'E', 15_000)}`,
    `_Z1fDT${deep('nt', 'Li1E', '', 30_000)}E`,
    `_ZN1A${deep('cvT_I', 'i', 'E', 9_000)}IiEEv`,
    `_Z${deep('Z', '1fv', 'E1gv', 10_000)}`,
    `_RINvC1a1b${deep('R', 'h', '', 60_000)}E`,
    `_RINvC1a1bFG${'z'.repeat(5)}_EuE`,
    `_RINvC1a1b${'TRuE'}${Array.from({ length: 40 }, (_, i) => `TB${i === 0 ? 8 : 'c'}_B8_E`).join('')}E`,
    `_Z${'1'.repeat(70_000)}`,
  ];
  await assertQuick(2000, () => {
    for (const name of names) {
      for (const parameters of [false, true]) assert.ok(demangle(name, { parameters }).length < 300_000);
    }
  });
  assert.equal(demangle(bomb(64), { parameters: true }), bomb(64));
});
