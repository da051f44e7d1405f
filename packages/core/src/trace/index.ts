export * from './pt/index.ts';
