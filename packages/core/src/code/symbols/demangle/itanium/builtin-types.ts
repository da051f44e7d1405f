/** Built-in types and standard abbreviations of the Itanium C++ ABI (sections 5.1.5.2 and 5.1.10). */
import { BUILTIN, type Node, numbered } from './node.ts';

/** How a literal of a type prints: `(type)digits`, `digits` with a suffix, `true`, or `(type)[bits]`. */
export const LITERAL_CAST = 0;
export const LITERAL_BOOL = 1;
export const LITERAL_FLOAT = 2;
export const LITERAL_VOID = 3;
/** From here on: the digits and LITERAL_SUFFIXES[style - LITERAL_SUFFIXED]. */
export const LITERAL_SUFFIXED = 4;
export const LITERAL_SUFFIXES: readonly string[] = ['', 'u', 'l', 'ul', 'll', 'ull'];

const INT = LITERAL_SUFFIXED;

const ONE_LETTER: readonly (readonly [code: string, name: string, style: number])[] = [
  ['a', 'signed char', LITERAL_CAST],
  ['b', 'bool', LITERAL_BOOL],
  ['c', 'char', LITERAL_CAST],
  ['d', 'double', LITERAL_FLOAT],
  ['e', 'long double', LITERAL_FLOAT],
  ['f', 'float', LITERAL_FLOAT],
  ['g', '__float128', LITERAL_FLOAT],
  ['h', 'unsigned char', LITERAL_CAST],
  ['i', 'int', INT],
  ['j', 'unsigned int', INT + 1],
  ['l', 'long', INT + 2],
  ['m', 'unsigned long', INT + 3],
  ['n', '__int128', LITERAL_CAST],
  ['o', 'unsigned __int128', LITERAL_CAST],
  ['s', 'short', LITERAL_CAST],
  ['t', 'unsigned short', LITERAL_CAST],
  ['v', 'void', LITERAL_VOID],
  ['w', 'wchar_t', LITERAL_CAST],
  ['x', 'long long', INT + 4],
  ['y', 'unsigned long long', INT + 5],
  ['z', '...', LITERAL_CAST],
];

/** The second letter after `D`. */
const TWO_LETTERS: readonly (readonly [code: string, name: string])[] = [
  ['a', 'auto'],
  ['c', 'decltype(auto)'],
  ['d', 'decimal64'],
  ['e', 'decimal128'],
  ['f', 'decimal32'],
  ['h', 'half'],
  ['i', 'char32_t'],
  ['n', 'decltype(nullptr)'],
  ['s', 'char16_t'],
  ['u', 'char8_t'],
];

/** Shared between names: a built-in type has no state that printing could change. */
export const BUILTIN_TYPES: ReadonlyMap<string, Node> = new Map(
  ONE_LETTER.map(([code, name, style]) => [code, numbered(BUILTIN, style, name)]),
);

export const D_BUILTIN_TYPES: ReadonlyMap<string, Node> = new Map(
  TWO_LETTERS.map(([code, name]) => [code, numbered(BUILTIN, LITERAL_CAST, name)]),
);

export interface StandardAbbreviation {
  readonly short: string;
  /** The type spelled out: printed before a constructor or destructor, and where asked for. */
  readonly full: string;
  /** The name that a constructor of this class has; empty for `std`, which has none. */
  readonly className: string;
}

function stream(name: string): StandardAbbreviation {
  return {
    short: `std::${name}`,
    full: `std::basic_${name}<char, std::char_traits<char> >`,
    className: `basic_${name}`,
  };
}

/** The letter after `S`. */
export const STANDARD_ABBREVIATIONS: ReadonlyMap<string, StandardAbbreviation> = new Map([
  ['t', { short: 'std', full: 'std', className: '' }],
  ['a', { short: 'std::allocator', full: 'std::allocator', className: 'allocator' }],
  ['b', { short: 'std::basic_string', full: 'std::basic_string', className: 'basic_string' }],
  [
    's',
    {
      short: 'std::string',
      full: 'std::basic_string<char, std::char_traits<char>, std::allocator<char> >',
      className: 'basic_string',
    },
  ],
  ['i', stream('istream')],
  ['o', stream('ostream')],
  ['d', stream('iostream')],
]);
