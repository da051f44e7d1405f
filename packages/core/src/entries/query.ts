/** Questions with plain JSON answers. */
export * from '../query/index.ts';
