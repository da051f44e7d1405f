/** The code of all binaries of a recording, each opened when a function of it is shown. */
import type { Diagnostic } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import type { SymbolDriver } from '@counterpoint/core/symbols';
import type { Recording } from '../../../host/open/index.ts';
import {
  type CodeOfBinary,
  type CodeRequest,
  codeOfFile,
  codeOfKernel,
  type FunctionCode,
  NoCode,
} from './code-of-binary.ts';
import { codeOfDump, dumpsOf } from './code-of-dump.ts';
import type { FunctionSamples } from './function-samples.ts';

export class CodeOfRecording implements AsyncDisposable {
  readonly diagnostics: Diagnostic[] = [];
  readonly #recording: Recording;
  readonly #result: IngestResult;
  readonly #driver: SymbolDriver;
  readonly #acceptUnverified: boolean;
  #dumps: Promise<Map<number, string>> | null = null;
  readonly #opened = new Map<number, Promise<CodeOfBinary | NoCode>>();

  constructor(recording: Recording, result: IngestResult, driver: SymbolDriver, acceptUnverified: boolean) {
    this.#recording = recording;
    this.#result = result;
    this.#driver = driver;
    this.#acceptUnverified = acceptUnverified;
  }

  async of(samples: FunctionSamples): Promise<FunctionCode | NoCode> {
    let opened = this.#opened.get(samples.binary);
    if (opened === undefined) this.#opened.set(samples.binary, (opened = this.#open(samples)));
    const code = await opened;
    return code instanceof NoCode ? code : await code.codeOf(samples);
  }

  async #open({ binary, pid }: FunctionSamples): Promise<CodeOfBinary | NoCode> {
    const { profile, diagnostics } = this.#result;
    const request: CodeRequest = {
      binary: profile.binaries[binary]!,
      pid,
      driver: this.#driver,
      acceptUnverified: this.#acceptUnverified,
      arch: profile.meta.arch,
      known: diagnostics,
      diagnostics: this.diagnostics,
    };
    switch (request.binary.kind) {
      case 'user':
      case 'vdso':
        return codeOfFile(request);
      case 'kernel':
      case 'module':
        return codeOfKernel(request);
      case 'jit':
        return codeOfDump(request, (await this.#dumpPaths()).get(pid));
      default:
        return new NoCode('nothing is known of where it was');
    }
  }

  #dumpPaths(): Promise<Map<number, string>> {
    this.#dumps ??= this.#recording.reader().then(dumpsOf);
    return this.#dumps;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#opened.values()) {
      const code = await opened;
      if (!(code instanceof NoCode)) await code.close();
    }
  }
}
