import { readCloneSuffixes, readEncodingWithoutParameters, readMangledName } from './encoding.ts';
import { NAME, type Node, SPECIAL, worded } from './node.ts';
import { MALFORMED, Parser, UNRESOLVED_OLD, UNRESOLVED_PRESENT } from './parser.ts';
import { printTree } from './print.ts';

/** What of a name is printed. */
export interface NameStyle {
  /** The parameters of functions, the results of templates, and which copy of a function it is. */
  readonly parameters: boolean;
  /** Standard types and Rust's hashes in full. */
  readonly verbose: boolean;
}

/**
 * `_GLOBAL__I_…` and `_GLOBAL__D_…` run the constructors and destructors of a
 * file; a mangled name may follow.
 */
const GLOBAL_PREFIX = '_GLOBAL_';

/** The readable form of a name of the Itanium C++ ABI (GCC, Clang), or null where it is none. */
export function demangleItanium(name: string, style: NameStyle): string | null {
  const isGlobal = name.startsWith(GLOBAL_PREFIX);
  if (!isGlobal && !name.startsWith('_Z')) return null;
  try {
    const root = isGlobal ? readGlobal(name, style) : readEitherForm(name, style);
    return root === null ? null : printTree(root);
  } catch (error) {
    if (error === MALFORMED) return null;
    throw error;
  }
}

function readGlobal(name: string, style: NameStyle): Node | null {
  const kind = name.charAt(9);
  if (!'._$'.includes(name.charAt(8)) || (kind !== 'I' && kind !== 'D') || name.charAt(10) !== '_')
    return null;
  const text = kind === 'I' ? 'global constructors keyed to ' : 'global destructors keyed to ';
  const rest = name.slice(11);
  if (!rest.startsWith('_Z')) return rest === '' ? null : worded(SPECIAL, text, worded(NAME, rest));
  const parser = new Parser(name, 12, style.verbose, UNRESOLVED_PRESENT);
  return worded(SPECIAL, text, readMangledName(parser));
}

/** Tries the present form of unresolved names, and that of old compilers where it matters. */
function readEitherForm(name: string, style: NameStyle): Node {
  const parser = new Parser(name, 1, style.verbose, UNRESOLVED_PRESENT);
  try {
    return readWhole(parser, style);
  } catch (error) {
    if (error !== MALFORMED || !parser.unresolvedSeen) throw error;
    return readWhole(new Parser(name, 1, style.verbose, UNRESOLVED_OLD), style);
  }
}

function readWhole(parser: Parser, style: NameStyle): Node {
  if (!style.parameters) return readEncodingWithoutParameters(parser);
  const root = readCloneSuffixes(parser, readMangledName(parser));
  if (!parser.atEnd) throw MALFORMED;
  return root;
}
