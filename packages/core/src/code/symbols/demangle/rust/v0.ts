/** Rust's v0 mangling (RFC 2603 and "v0 Symbol Format" in the rustc book). */
import { readConst } from './v0-consts.ts';
import { digit62, INVALID, V0Reader } from './v0-reader.ts';

const BASIC_TYPES: ReadonlyMap<string, string> = new Map([
  ['a', 'i8'],
  ['b', 'bool'],
  ['c', 'char'],
  ['d', 'f64'],
  ['e', 'str'],
  ['f', 'f32'],
  ['h', 'u8'],
  ['i', 'isize'],
  ['j', 'usize'],
  ['l', 'i32'],
  ['m', 'u32'],
  ['n', 'i128'],
  ['o', 'u128'],
  ['p', '_'],
  ['s', 'i16'],
  ['t', 'u16'],
  ['u', '()'],
  ['v', '...'],
  ['x', 'i64'],
  ['y', 'u64'],
  ['z', '!'],
]);

/**
 * The readable name, or null where it is no v0 name. A `.suffix` of the compiler
 * is left out, as binutils does.
 */
export function demangleRustV0(name: string, verbose: boolean): string | null {
  if (!name.startsWith('_R')) return null;
  const first = name.charAt(2);
  // Paths start in upper case; a digit would be a later version of the encoding.
  if (first < 'A' || first > 'Z') return null;
  const dot = name.indexOf('.');
  const end = dot < 0 ? name.length : dot;
  if (!isWord(name, end)) return null;
  const reader = new V0Reader(name, end, verbose);
  try {
    readPath(reader, true);
    // The crate that instantiated it tells copies apart.
    if (reader.position < end) reader.silently(() => readPath(reader, false));
  } catch (error) {
    if (error === INVALID) return null;
    throw error;
  }
  return reader.position === end ? reader.text : null;
}

function isWord(name: string, end: number): boolean {
  for (let i = 0; i < end; i++) {
    if (digit62(name.charCodeAt(i)) < 0 && name.charAt(i) !== '_') return false;
  }
  return true;
}

/** `inValue`: generic arguments are written `::<…>`, as in an expression. */
export function readPath(reader: V0Reader, inValue: boolean): void {
  reader.enter();
  const tag = reader.next();
  switch (tag) {
    case 'C':
      readCrate(reader);
      break;
    case 'N':
      readNested(reader, inValue);
      break;
    case 'M':
    case 'X':
      // Where the impl stands.
      reader.silently(() => {
        reader.optionalInteger62('s');
        readPath(reader, inValue);
      });
      readSelf(reader, tag === 'X');
      break;
    case 'Y':
      readSelf(reader, true);
      break;
    case 'I':
      readPath(reader, inValue);
      reader.write(inValue ? '::<' : '<');
      readGenericArguments(reader);
      reader.write('>');
      break;
    case 'B':
      reader.backReference(() => readPath(reader, inValue));
      break;
    default:
      throw INVALID;
  }
  reader.leave();
}

function readCrate(reader: V0Reader): void {
  if (!reader.verbose) {
    reader.optionalInteger62('s');
    reader.write(reader.identifier());
    return;
  }
  const hash = reader.disambiguatorHex();
  reader.write(`${reader.identifier()}[${hash}]`);
}

/**
 * N <namespace> <path> <identifier>: `v` and `t` are values and types; capitals have no name of their own.
 */
function readNested(reader: V0Reader, inValue: boolean): void {
  const namespace = reader.next();
  const isSpecial = namespace >= 'A' && namespace <= 'Z';
  if (!isSpecial && (namespace < 'a' || namespace > 'z')) throw INVALID;
  readPath(reader, inValue);
  const disambiguator = reader.optionalInteger62('s');
  const name = reader.identifier();
  if (!isSpecial) {
    if (name !== '') reader.write(`::${name}`);
    return;
  }
  const kind = namespace === 'C' ? 'closure' : namespace === 'S' ? 'shim' : namespace;
  reader.write(`::{${kind}${name === '' ? '' : `:${name}`}#${disambiguator}}`);
}

/** <type> or <type as trait> */
function readSelf(reader: V0Reader, hasTrait: boolean): void {
  reader.write('<');
  readType(reader);
  if (hasTrait) {
    reader.write(' as ');
    readPath(reader, false);
  }
  reader.write('>');
}

/** Items up to `E`, with `separator` between. Returns how many. */
export function readList(reader: V0Reader, separator: string, read: () => void): number {
  let count = 0;
  for (; !reader.accept('E'); count++) {
    if (count > 0) reader.write(separator);
    read();
  }
  return count;
}

function readGenericArguments(reader: V0Reader): void {
  readList(reader, ', ', () => {
    if (reader.accept('L')) writeLifetime(reader, reader.integer62());
    else if (reader.accept('K')) readConst(reader, false);
    else readType(reader);
  });
}

export function readType(reader: V0Reader): void {
  reader.enter();
  const tag = reader.next();
  const basic = BASIC_TYPES.get(tag);
  if (basic !== undefined) reader.write(basic);
  else readCompoundType(reader, tag);
  reader.leave();
}

/** The name of the basic type with this tag. */
export function basicTypeName(tag: string): string {
  return BASIC_TYPES.get(tag) ?? tag;
}

function readCompoundType(reader: V0Reader, tag: string): void {
  switch (tag) {
    case 'R':
    case 'Q': {
      reader.write('&');
      const lifetime = reader.accept('L') ? reader.integer62() : 0;
      if (lifetime > 0) {
        writeLifetime(reader, lifetime);
        reader.write(' ');
      }
      if (tag === 'Q') reader.write('mut ');
      readType(reader);
      break;
    }
    case 'P':
      reader.write('*const ');
      readType(reader);
      break;
    case 'O':
      reader.write('*mut ');
      readType(reader);
      break;
    case 'A':
      reader.write('[');
      readType(reader);
      reader.write('; ');
      readConst(reader, true);
      reader.write(']');
      break;
    case 'S':
      reader.write('[');
      readType(reader);
      reader.write(']');
      break;
    case 'T': {
      reader.write('(');
      const count = readList(reader, ', ', () => readType(reader));
      reader.write(count === 1 ? ',)' : ')');
      break;
    }
    case 'F':
      withBinder(reader, () => readFunctionType(reader));
      break;
    case 'D':
      reader.write('dyn ');
      withBinder(reader, () => readList(reader, ' + ', () => readDynTrait(reader)));
      readDynLifetime(reader);
      break;
    case 'B':
      reader.backReference(() => readType(reader));
      break;
    case 'W':
      readType(reader);
      reader.write(' is ');
      readPattern(reader);
      break;
    default:
      // Paths have letters of their own.
      reader.position--;
      readPath(reader, false);
  }
}

/** [G <count>]: writes `for<'a, 'b> ` and names the lifetimes inside. */
function withBinder(reader: V0Reader, read: () => void): void {
  const outer = reader.boundLifetimes;
  const count = reader.optionalInteger62('G');
  if (count > 0) {
    reader.spend(count);
    reader.write('for<');
    for (let i = 0; i < count; i++) {
      if (i > 0) reader.write(', ');
      reader.boundLifetimes++;
      writeLifetime(reader, 1);
    }
    reader.write('> ');
  }
  read();
  reader.boundLifetimes = outer;
}

/** Lifetimes count outwards from the innermost binder; 0 is one that was erased. */
function writeLifetime(reader: V0Reader, index: number): void {
  if (index === 0) {
    reader.write("'_");
    return;
  }
  const depth = reader.boundLifetimes - index;
  if (depth < 0) throw INVALID;
  reader.write(depth < 26 ? `'${String.fromCharCode(0x61 + depth)}` : `'_${depth}`);
}

/** [U] [K <abi>] <type>* E <result> */
function readFunctionType(reader: V0Reader): void {
  if (reader.accept('U')) reader.write('unsafe ');
  if (reader.accept('K')) {
    const abi = reader.accept('C') ? 'C' : readAbi(reader);
    reader.write(`extern "${abi}" `);
  }
  reader.write('fn(');
  readList(reader, ', ', () => readType(reader));
  reader.write(')');
  if (reader.accept('u')) return;
  reader.write(' -> ');
  readType(reader);
}

/** The dashes of an ABI's name are mangled as underscores. */
function readAbi(reader: V0Reader): string {
  if (reader.peek() === 'u') throw INVALID;
  const abi = reader.identifier();
  if (abi === '') throw INVALID;
  return abi.replaceAll('_', '-');
}

/** A trait; its associated types join the generic arguments: Iterator<Item = u8>. */
function readDynTrait(reader: V0Reader): void {
  let isOpen = readPathLeftOpen(reader);
  while (reader.accept('p')) {
    reader.write(isOpen ? ', ' : '<');
    isOpen = true;
    reader.write(`${reader.identifier()} = `);
    readType(reader);
  }
  if (isOpen) reader.write('>');
}

/** A path without the `>` of its generic arguments. Says whether there is one to come. */
function readPathLeftOpen(reader: V0Reader): boolean {
  let isOpen = false;
  reader.enter();
  if (reader.accept('B')) {
    reader.backReference(() => {
      isOpen = readPathLeftOpen(reader);
    });
  } else if (reader.accept('I')) {
    readPath(reader, false);
    reader.write('<');
    isOpen = true;
    readGenericArguments(reader);
  } else readPath(reader, false);
  reader.leave();
  return isOpen;
}

function readDynLifetime(reader: V0Reader): void {
  if (!reader.accept('L')) throw INVALID;
  const lifetime = reader.integer62();
  if (lifetime === 0) return;
  reader.write(' + ');
  writeLifetime(reader, lifetime);
}

/** R <const> <const>, O <pattern>* E, N */
function readPattern(reader: V0Reader): void {
  reader.enter();
  switch (reader.next()) {
    case 'R':
      readConst(reader, false);
      reader.write('..=');
      readConst(reader, false);
      break;
    case 'O':
      readList(reader, ' | ', () => readPattern(reader));
      break;
    case 'N':
      reader.write('!null');
      break;
    default:
      throw INVALID;
  }
  reader.leave();
}
