/** What compile.ts has made of the test files of a run. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';

/** In the working directory. */
export const FOLDER = '.test-build';

export class CompiledTests implements Disposable {
  readonly #folder: string;
  readonly #outputs: ReadonlyMap<string, string>;
  readonly #maps = new Map<string, SourceMap | null>();

  constructor(folder: string, outputs: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#outputs = outputs;
  }

  /** What Node is to run: the compiled file, or the file itself where it runs from its sources. */
  programOf(path: string): string {
    return this.#outputs.get(path) ?? path;
  }

  /** The test file that a compiled file was made of. */
  sourceOf(program: string): string {
    for (const [path, output] of this.#outputs) if (output === program) return resolve(path);
    return program;
  }

  /** A text of a test, with places in compiled files as places in the sources. */
  readable(text: string): string {
    const place = new RegExp(
      `(?:file://)?(?:${process.cwd()}/)?(${FOLDER}/[^\\s:()'"]+\\.js):(\\d+):(\\d+)`,
      'g',
    );
    return text.replace(place, (whole, file: string, line: string, column: string) => {
      const entry = this.#mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (entry === undefined || !('originalSource' in entry)) return whole;
      const source = relative('.', resolve(dirname(file), entry.originalSource));
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  }

  #mapOf(file: string): SourceMap | null {
    let map = this.#maps.get(file);
    if (map === undefined) {
      const path = `${file}.map`;
      map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null;
      this.#maps.set(file, map);
    }
    return map;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
