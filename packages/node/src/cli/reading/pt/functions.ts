/** Functions of the code that `--elf` names: shared by the verbs `pt …`. */
import { type Diagnostic, memorySource } from '@counterpoint/core/base';
import type { CodeFunctions } from '@counterpoint/trace/intel-pt';
import { diskDriver } from '../../../host/locate/index.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { elfFiles, type NamedCode, type PtCodeName } from './code.ts';

/** With names from the files themselves, and from debug files that belong to them. */
export async function namedFunctions<Name extends string>(
  args: ParsedArguments<Name | PtCodeName>,
  code: NamedCode,
): Promise<CodeFunctions> {
  const { CodeFunctions } = await import('@counterpoint/trace/intel-pt');
  const functions = new CodeFunctions();
  const driver = diskDriver();
  for (const { path, address } of elfFiles(args))
    await functions.addElf(memorySource(code.file(path)), { name: path, address }, driver);
  return functions;
}

/** What is worth saying of the names without being asked. */
export function nameNotes(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(
    ({ path, detail, remedy }) => `${path}: ${detail}.${remedy === '' ? '' : ` ${remedy}`}`,
  );
}
