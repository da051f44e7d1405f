import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isProof } from '../../../core/src/test/proof.ts';

const NEWEST = '24.21.0';
const VERSIONS = isProof ? ['20.19.0', '22.23.3', NEWEST] : [NEWEST];

const installed = (version: string) =>
  fileURLToPath(new URL(`../../../../.nodes/node_modules/node-${version}/bin/node`, import.meta.url));

/**
 * The Node that runs this, and the newest; in `npm run proof` each that is here (`npm run nodes`). The table
 * of docs/compatibility.md is of all.
 */
export const nodePrograms: readonly string[] = [
  process.execPath,
  ...VERSIONS.map(installed).filter((path) => existsSync(path)),
];
