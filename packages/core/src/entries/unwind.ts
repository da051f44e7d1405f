export * from '../unwind/index.ts';
