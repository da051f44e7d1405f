import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const VERSIONS = ['20.19.0', '22.23.3', '24.21.0'];

const installed = (version: string) =>
  fileURLToPath(new URL(`../../../../.nodes/node_modules/node-${version}/bin/node`, import.meta.url));

/** The Node that runs this, and each other one that is here (`npm run nodes`). */
export const nodePrograms: readonly string[] = [
  process.execPath,
  ...VERSIONS.map(installed).filter((path) => existsSync(path)),
];
