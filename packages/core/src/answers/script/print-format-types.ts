interface CType {
  bits: number;
  isSigned: boolean;
}

const type = (bits: number, isSigned: boolean): CType => ({ bits, isSigned });

/** Names of types that formats cast to, with what a 64-bit kernel makes of them. */
const NAMED: Readonly<Record<string, CType>> = /* @__PURE__ */ namedTypes();

function namedTypes(): Record<string, CType> {
  return {
    bool: type(8, false),
    u8: type(8, false),
    u16: type(16, false),
    u32: type(32, false),
    u64: type(64, false),
    s8: type(8, true),
    s16: type(16, true),
    s32: type(32, true),
    s64: type(64, true),
    uint: type(32, false),
    __u8: type(8, false),
    __u16: type(16, false),
    __u32: type(32, false),
    __u64: type(64, false),
    __s32: type(32, true),
    __s64: type(64, true),
    gfp_t: type(32, false),
    dev_t: type(32, false),
    pid_t: type(32, true),
    umode_t: type(16, false),
    uid_t: type(32, false),
    gid_t: type(32, false),
    size_t: type(64, false),
    ssize_t: type(64, true),
    loff_t: type(64, true),
    sector_t: type(64, false),
    ino_t: type(64, false),
    ktime_t: type(64, true),
    pgoff_t: type(64, false),
    blk_opf_t: type(32, false),
    fmode_t: type(32, false),
    dma_addr_t: type(64, false),
    phys_addr_t: type(64, false),
  };
}

const QUALIFIERS = new Set(['const', 'volatile', '__force']);
const BASIC = new Set(['unsigned', 'signed', 'long', 'short', 'int', 'char']);

/** The type that words such as `unsigned long` name, or null where they name none. */
export function cType(words: readonly string[], isPointer: boolean): CType | null {
  const names = words.filter((word) => !QUALIFIERS.has(word));
  const first = names[0];
  if (first === undefined) return null;
  const isTagged = first === 'struct' || first === 'union' || first === 'enum';
  if (isPointer) return isTagged || first === 'void' || isScalar(names) ? type(64, false) : null;
  if (first === 'enum') return type(32, true);
  if (names.every((word) => BASIC.has(word))) {
    const isSigned = !names.includes('unsigned');
    if (names.includes('char')) return type(8, isSigned);
    if (names.includes('short')) return type(16, isSigned);
    return type(names.includes('long') ? 64 : 32, isSigned);
  }
  return names.length === 1 && Object.hasOwn(NAMED, first) ? NAMED[first]! : null;
}

function isScalar(names: readonly string[]): boolean {
  return names.every((word) => BASIC.has(word) || Object.hasOwn(NAMED, word));
}
