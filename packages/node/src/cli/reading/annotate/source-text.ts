/** Lines of source files, read once each. Their paths come out of debug information. */
import type { Diagnostic } from '@counterpoint/core/base';
import type { SymbolDriver } from '@counterpoint/core/symbols';

/** Longer files are no source that a person wrote: they are not read. */
const MOST_SOURCE_BYTES = 1 << 25;
const TAB_COLUMNS = 8;

export class SourceText {
  readonly diagnostics: Diagnostic[] = [];
  readonly #driver: SymbolDriver;
  readonly #files = new Map<string, readonly string[] | null>();
  /** When a file was written; null where that is not known. */
  readonly #writtenMs: (path: string) => Promise<number | null>;

  constructor(driver: SymbolDriver, writtenMs: (path: string) => Promise<number | null>) {
    this.#driver = driver;
    this.#writtenMs = writtenMs;
  }

  /** To be called before `line`. `binaryPath`: the file that the source was made into. */
  async load(file: string, pid: number, binaryPath: string | null): Promise<void> {
    if (file === '' || this.#files.has(file)) return;
    this.#files.set(file, null);
    const request = { need: 'script', path: file, buildId: '', pid, required: false } as const;
    const opened = await this.#driver.open(request, this.diagnostics).catch(() => null);
    if (opened === null) {
      this.#say('no-source', file, 'the source is not there: its lines have numbers only', '');
      return;
    }
    try {
      if (opened.size > MOST_SOURCE_BYTES) {
        this.#say('long-source', file, `the source has ${opened.size} bytes, and was not read`, '');
        return;
      }
      this.#files.set(file, new TextDecoder().decode(await opened.read(0, opened.size)).split(/\r?\n/));
      if (opened.path !== undefined && binaryPath !== null) await this.#compareAge(opened.path, binaryPath);
    } finally {
      await opened.close?.();
    }
  }

  async #compareAge(path: string, binaryPath: string): Promise<void> {
    const [source, binary] = [await this.#writtenMs(path), await this.#writtenMs(binaryPath)];
    if (source === null || binary === null || source <= binary) return;
    this.#say(
      'source-newer',
      path,
      'the source was changed after the binary was made: its text may not be that of the lines',
      'Build it again and record again, or check out the source as it was.',
    );
  }

  #say(code: string, path: string, detail: string, remedy: string): void {
    this.diagnostics.push({ code, path, detail, remedy });
  }

  /** The text of a line, from 1; null where it is not known. */
  line(file: string, line: number): string | null {
    return this.#files.get(file)?.[line - 1] ?? null;
  }
}

/** Blanks in the place of tabs, up to the next multiple of eight: the columns of a listing move the text. */
export function expandTabs(text: string): string {
  const [first, ...rest] = text.split('\t');
  return rest.reduce((line, part) => {
    const blanks = TAB_COLUMNS - (line.length % TAB_COLUMNS);
    return line + ' '.repeat(blanks) + part;
  }, first!);
}
