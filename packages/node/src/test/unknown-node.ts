import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const EXPORTED = 'v8dbg_CodeKindBaseline';
const OTHER = 'v8dbg_CodeKindOfFuture';

/** A Node whose V8 does not export one of the things that its code is found by. */
export function unknownNode(folder: string): string {
  const path = join(folder, 'node');
  const program = readFileSync(process.execPath);
  let at = program.indexOf(EXPORTED);
  if (at < 0) throw new Error(`${process.execPath} has no ${EXPORTED}`);
  for (; at >= 0; at = program.indexOf(EXPORTED, at)) program.write(OTHER, at);
  writeFileSync(path, program);
  chmodSync(path, 0o755);
  return path;
}
