import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Diagnostic } from '@counterpoint/core/base';
import { isBuildId } from './file-paths.ts';

export type DebuginfodType = 'executable' | 'debuginfo';

/** The parts of the environment that steer debuginfod clients (debuginfod-client-config(7)). */
export type DebuginfodEnvironment = Record<string, string | undefined>;

/** Seconds without a byte before a server is given up; elfutils' default. */
const DEFAULT_TIMEOUT_SECONDS = 90;
/** An empty cache file says that no server has it; it is believed for so long. */
const MISS_SECONDS = 600;

/**
 * Files by build id from the servers of DEBUGINFOD_URLS, kept in the cache that
 * elfutils' and gdb's clients use:
 *
 *     $DEBUGINFOD_CACHE_PATH/<build id>/debuginfo
 */
export class Debuginfod {
  readonly #urls: string[];
  readonly #cacheDir: string;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

  constructor(environment: DebuginfodEnvironment) {
    this.#urls = (environment.DEBUGINFOD_URLS ?? '').split(/\s+/).filter((url) => /^https?:\/\//.test(url));
    this.#cacheDir = cacheDirOf(environment);
    this.#timeoutMs = (Number(environment.DEBUGINFOD_TIMEOUT) || DEFAULT_TIMEOUT_SECONDS) * 1000;
    this.#maxBytes = Number(environment.DEBUGINFOD_MAXSIZE) || Number.POSITIVE_INFINITY;
  }

  /** Path of the file in the cache, downloaded if need be; null where no server has it, or none is set. */
  async find(buildId: string, type: DebuginfodType, diagnostics: Diagnostic[]): Promise<string | null> {
    if (this.#urls.length === 0 || !isBuildId(buildId)) return null;
    const path = join(this.#cacheDir, buildId, type);
    const cached = await stat(path).catch(() => null);
    if (cached?.isFile() && cached.size > 0) return path;
    if (cached !== null && Date.now() - cached.mtimeMs < MISS_SECONDS * 1000) return null;

    let isMiss = true;
    for (const url of this.#urls) {
      const address = `${url.replace(/\/+$/, '')}/buildid/${buildId}/${type}`;
      try {
        if (await this.#download(address, path)) return path;
      } catch (error) {
        isMiss = false;
        diagnostics.push({
          code: 'debuginfod-failed',
          path: address,
          detail: `the debug info server gave an unexpected answer: ${reasonOf(error)}`,
          remedy: 'Try again later, or unset DEBUGINFOD_URLS.',
        });
      }
    }
    if (isMiss) await rememberMiss(path);
    return null;
  }

  /** False where the server does not have it. */
  async #download(address: string, path: string): Promise<boolean> {
    const controller = new AbortController();
    let timer = setTimeout(() => controller.abort(new Error('timeout')), this.#timeoutMs);
    const onProgress = () => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(new Error('timeout')), this.#timeoutMs);
    };
    try {
      const response = await fetch(address, { signal: controller.signal });
      if (response.status === 404) {
        await response.body?.cancel();
        return false;
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      await this.#save(response.body, path, onProgress);
      return true;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Writes beside the final name first: other clients must not see half a file. */
  async #save(body: AsyncIterable<Uint8Array>, path: string, onProgress: () => void): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    const partial = `${path}.${crypto.randomUUID()}`;
    const file = await open(partial, 'wx', 0o400);
    try {
      let size = 0;
      for await (const chunk of body) {
        onProgress();
        size += chunk.length;
        if (size > this.#maxBytes) throw new Error('larger than DEBUGINFOD_MAXSIZE');
        await file.writeFile(chunk);
      }
      if (size === 0) throw new Error('an empty answer');
      await file.close();
      await rename(partial, path);
    } catch (error) {
      await file.close();
      await rm(partial, { force: true });
      throw error;
    }
  }
}

function cacheDirOf(environment: DebuginfodEnvironment): string {
  if (environment.DEBUGINFOD_CACHE_PATH) return environment.DEBUGINFOD_CACHE_PATH;
  const old = join(homedir(), '.debuginfod_client_cache');
  if (existsSync(old)) return old;
  return join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'debuginfod_client');
}

async function rememberMiss(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { force: true });
    await writeFile(path, '', { mode: 0o600, flag: 'wx' });
  } catch {
    // The cache cannot be written: the next report asks again.
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
