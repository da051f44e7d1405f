import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isProof } from '../../../core/src/test/proof.ts';

/** Long-term support. */
const USUAL = '24.21.0';
const NEWEST = '26.12.1';
const VERSIONS = isProof ? ['20.19.0', '22.23.3', USUAL, NEWEST] : [USUAL];

const installed = (version: string) =>
  fileURLToPath(new URL(`../../../../.nodes/node_modules/node-${version}/bin/node`, import.meta.url));

/** Null: it is not here. */
export const newestNode: string | null = existsSync(installed(NEWEST)) ? installed(NEWEST) : null;

/**
 * The Node that runs this, and the one that most people have; in `npm run proof` each that is here (`npm run
 * nodes`). The table of docs/compatibility.md is of all.
 */
export const nodePrograms: readonly string[] = [
  process.execPath,
  ...VERSIONS.map(installed).filter((path) => existsSync(path)),
];
