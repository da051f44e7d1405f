// Whole files: an entry cannot name what is left out of the published types.
export * from './branch-filters.ts';
export * from './branch-record.ts';
export * from './branch-stack.ts';
export * from './branch-table.ts';
