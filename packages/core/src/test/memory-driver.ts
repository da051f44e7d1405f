import { memorySource } from '../base/index.ts';
import type { FileRequest, OpenedFile, SymbolDriver } from '../code/symbols/index.ts';

/**
 * Answers requests from a table by need and path (`binary /bin/ls`), and remembers what was asked and closed.
 */
export class MemoryDriver implements SymbolDriver {
  readonly files = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly asked: FileRequest[] = [];
  openFiles = 0;

  constructor(files: Record<string, Uint8Array<ArrayBuffer> | string> = {}) {
    for (const [key, content] of Object.entries(files))
      this.files.set(key, typeof content === 'string' ? new TextEncoder().encode(content) : content);
  }

  async open(request: FileRequest): Promise<OpenedFile | null> {
    this.asked.push(request);
    const bytes = this.files.get(`${request.need} ${request.path}`);
    if (bytes === undefined) return null;
    this.openFiles++;
    return {
      ...memorySource(bytes),
      close: async () => {
        this.openFiles--;
      },
    };
  }
}
