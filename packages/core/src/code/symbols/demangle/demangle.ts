/** Names of C++ and Rust as their authors wrote them. */
import { demangleItanium, type NameStyle } from './itanium/demangle-itanium.ts';
import { demangleRustLegacy } from './rust/legacy.ts';
import { demangleRustV0 } from './rust/v0.ts';
import { fromByteString, toByteString } from './utf8.ts';

/** What of a name is printed. The default is what `perf report` and `perf script` print. */
export interface DemangleOptions {
  /** With the parameters of functions, the result types of templates and `[clone .suffix]`. */
  parameters?: boolean;
  /**
   * `std::string` spelled out, and of Rust the hashes of crates and functions and the types of constants. By
   * default as `parameters`, since `c++filt` prints both or neither.
   */
  verbose?: boolean;
}

/** No compiler makes longer names; what it would take to read one stays bounded. */
const LENGTH_LIMIT = 1 << 16;

const BEYOND_ASCII = /[^\0-\x7f]/;

/**
 * The readable form of a mangled C++ or Rust name. `@plt` and `@@VERSION` after it are kept. A name that is
 * not mangled, or breaks the rules of its mangling, comes back unchanged. Never throws.
 */
export function demangle(name: string, options: DemangleOptions = {}): string {
  if (!name.startsWith('_') || name.length > LENGTH_LIMIT) return name;
  const parameters = options.parameters ?? false;
  const style: NameStyle = { parameters, verbose: options.verbose ?? parameters };
  const at = name.indexOf('@');
  if (at < 0) return demangleBare(name, style) ?? name;
  const readable = demangleBare(name.slice(0, at), style);
  return readable === null ? name : readable + name.slice(at);
}

function demangleBare(name: string, style: NameStyle): string | null {
  // Rust's first mangling looks like C++, so it goes first.
  const rust = demangleRustV0(name, style.verbose) ?? demangleRustLegacy(name, style.verbose);
  if (rust !== null) return rust;
  if (!BEYOND_ASCII.test(name)) return demangleItanium(name, style);
  const readable = demangleItanium(toByteString(name), style);
  return readable === null ? null : fromByteString(readable);
}
