import type { Diagnostic } from '../../base/index.ts';
import { FormatError } from '../../base/index.ts';
import {
  jitCodeName,
  parseScriptName,
  RECORDED_SOURCE_MAPS,
  type ScriptName,
  scriptText,
} from '../../code/jit/index.ts';
import {
  decodeRecordedMaps,
  type RecordedSourceMap,
  type ScriptFiles,
  ScriptMaps,
  type SourceMapFault,
  type SourceMapsResult,
} from '../../code/source-maps/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import type { Binaries } from './binaries.ts';
import type { SourceLine } from './javascript-stacks.ts';

const KIND = 'JS:';
const ANONYMOUS = '(anonymous)';
/** Behind the file of a place in code that a compiler wrote, where no map leads to the source. */
const GENERATED = ' (generated)';

/**
 * Functions and places of JavaScript as the sources have them. V8 knows the code that a compiler made of
 * them; maps lead back:
 *
 *     recorded   JS:mix /app/main.ts:2:61      the second line of what tsx made of main.ts
 *     shown      JS:mix /app/main.ts:13:20
 *
 * Where no map does, a place in code that a compiler wrote is marked: a place of that number may be in the
 * source, too, and is another one.
 *
 *     shown      JS:mix /app/main.js (generated):1:569
 */
export class SourceNames {
  readonly #maps: ScriptMaps;
  readonly #scripts = new Map<string, ScriptName | null>();
  readonly #diagnostics: Diagnostic[] = [];

  /** `readsFiles`: whether files on this machine are those of the recording. */
  constructor(driver: SymbolDriver, binaries: Binaries, readsFiles: () => boolean) {
    this.#maps = new ScriptMaps(scriptFiles(driver, binaries, readsFiles, this.#diagnostics));
  }

  get result(): SourceMapsResult {
    return this.#maps.result;
  }

  /**
   * What could not be done, in one note. Faults of packages are in `result` only: many have no map with them.
   */
  get diagnostics(): Diagnostic[] {
    const { faults } = this.result;
    const own = faults.filter(({ script }) => !script.includes('/node_modules/'));
    return own.length === 0 ? this.#diagnostics : [...this.#diagnostics, noteOf(own)];
  }

  /** Before names and places of a function are asked for. */
  async prepare(pid: number, recordedName: string): Promise<void> {
    const script = this.#scriptOf(recordedName);
    if (script !== null && isMapped(script))
      await this.#maps.prepare(pid, script.file, script.line ?? 1, script.column ?? 1);
  }

  /** `name`: as `jitCodeName` has it. */
  nameOf(pid: number, name: string): string {
    const script = this.#scriptOf(name);
    if (script === null || !isMapped(script)) return name;
    const { file, line, column } = script;
    const place = this.#maps.functionPlace(pid, file, line!, column ?? 1);
    if (place === null)
      return this.#maps.isGenerated(pid, file, line!)
        ? scriptText({ ...script, file: `${file}${GENERATED}` })
        : name;
    const own = script.name === ANONYMOUS ? '' : script.name;
    const known = this.#maps.functionName(pid, file, line!, column ?? 1, own);
    return scriptText({
      ...script,
      name: known ?? script.name,
      file: place.source,
      line: place.line,
      column: place.column,
    });
  }

  /** Of a copy, with the tier, as a perf map would have it if the source itself had been run. */
  recordedNameOf(pid: number, recordedName: string): string {
    const { name, tier } = jitCodeName(recordedName);
    const shown = this.nameOf(pid, name);
    if (shown === name) return recordedName;
    return `${KIND}${tier}${shown.slice(KIND.length).replace(ANONYMOUS, '')}`;
  }

  /** Of a place in a function's script; null: it is of no source. */
  sourceOf(pid: number, functionName: string, line: number, column: number): SourceLine | null {
    const script = this.#scriptOf(functionName);
    if (script === null || script.file === '') return null;
    if (!this.#maps.has(pid, script.file)) {
      const mark = isMapped(script) && this.#maps.isGenerated(pid, script.file, line) ? GENERATED : '';
      return { file: `${script.file}${mark}`, line, column };
    }
    const place = this.#maps.place(pid, script.file, line, column);
    return place === null ? null : { file: place.source, line: place.line, column: place.column };
  }

  #scriptOf(name: string): ScriptName | null {
    let script = this.#scripts.get(name);
    if (script === undefined) this.#scripts.set(name, (script = parseScriptName(name)));
    return script;
  }
}

/** Of Node itself, and what is in no file. */
const NOT_MAPPED = /^(?:node:|wasm|eval at )/;

function isMapped({ file, line }: ScriptName): boolean {
  return file !== '' && line !== null && !NOT_MAPPED.test(file);
}

function scriptFiles(
  driver: SymbolDriver,
  binaries: Binaries,
  readsFiles: () => boolean,
  diagnostics: Diagnostic[],
): ScriptFiles {
  const recorded = new Map<number, Promise<Map<string, RecordedSourceMap>>>();
  const mapsOf = async (pid: number): Promise<Map<string, RecordedSourceMap>> => {
    try {
      const file = await binaries.recordedFile(RECORDED_SOURCE_MAPS, pid);
      if (file === null) return new Map();
      const maps = decodeRecordedMaps(await file.read(0, file.size));
      return new Map(maps.map((one) => [one.script, one]));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      diagnostics.push({
        code: 'source-maps-damaged',
        path: `process ${pid}`,
        detail: `the source maps in the recording are damaged, so functions are shown as they were compiled: ${error.message}`,
        remedy: '',
      });
      return new Map();
    }
  };
  return {
    async recordedMap(pid, script) {
      let maps = recorded.get(pid);
      if (maps === undefined) recorded.set(pid, (maps = mapsOf(pid)));
      return (await maps).get(script) ?? null;
    },
    async open(pid, path) {
      if (!readsFiles()) return null;
      const need = path.endsWith('.map') ? 'source-map' : 'script';
      return driver.open({ need, path, buildId: '', pid, required: false }, diagnostics);
    },
  };
}

function noteOf(faults: readonly SourceMapFault[]): Diagnostic {
  const [first] = faults;
  const others = faults.length - 1;
  const more = others === 0 ? '' : `, and of ${others} other ${others === 1 ? 'script' : 'scripts'}`;
  return {
    code: 'source-maps',
    path: 'source maps',
    detail: `the source map of ${first!.script}${more} could not be used as a whole (${first!.reason}), so functions may be shown as they were compiled`,
    remedy: 'For all of them, see `sourceMaps` in the answer of `report --json`.',
  };
}
