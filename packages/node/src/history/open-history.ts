import { fileURLToPath } from 'node:url';
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
  const source = await openFileSource(path instanceof URL ? fileURLToPath(path) : path);
  try {
    return await openHistorySource(source);
  } catch (error) {
    await source.close();
    throw error;
  }
}
