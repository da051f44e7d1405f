import { fileURLToPath } from 'node:url';
import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import { type HistoryFile, openHistory as openHistorySource } from '@counterpoint/core/history';
import { openFileSource } from '../locate/index.ts';

/**
 * Open a history of fixed-size records by its path. Close it at the end.
 *
 *   const history = await openHistory('flight-….history');
 *   const last = await history.at(history.count - 1);
 *   await history.close();
 */
export async function openHistory(path: string | URL): Promise<HistoryFile> {
  const isPath = typeof path === 'string' || path instanceof URL;
  checkArgument(isPath, 'openHistory()', 'the path', path, 'a path or a file: URL');
  const name = path instanceof URL ? fileURLToPath(path) : path;
  const source = await openFileSource(name).catch((error) => {
    throw isAbsent(error) ? noHistory(name) : error;
  });
  try {
    return await openHistorySource(source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function noHistory(path: string): CounterpointError {
  const remedy = 'A flight recorder writes them: counterpoint flight --fixed-size -- COMMAND';
  return new CounterpointError('ERR_NO_FILE', `there is no file ${path}`, remedy);
}
