/** The ring-buffer algorithm over plain memory. */
export * from '../format/ring/index.ts';
