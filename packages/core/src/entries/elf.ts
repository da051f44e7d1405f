/** ELF files: symbol tables, build ids, debug links, source lines. */
export * from '../elf/index.ts';
