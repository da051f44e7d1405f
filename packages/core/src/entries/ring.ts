/** The ring-buffer algorithm over plain memory. */
export * from '../ring/index.ts';
