/** 64-bit values, bytes and where they come from, errors, damage, text that is safe to print. */
export * from '../base/index.ts';
