export * from './base/index.ts';
export * from './loss/index.ts';
export * from './profile/index.ts';
