import { readdirSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { ProblemList } from '@counterpoint/core/pmus';
import { checkOptions, either, listOf, oneOf, required, TEXT } from '../../../host/options/index.ts';
import { type EventTables, NO_TABLES, placeTables } from './event-tables.ts';
import { machineCpus } from './family-events.ts';
import type { EventTable } from './table-cpu.ts';
import { readVendorFiles } from './vendor-files.ts';

/** Where tables are, for all commands: paths with `:` between them. */
const VARIABLE = 'COUNTERPOINT_EVENT_TABLES';
const DEVICES = '/sys/bus/event_source/devices';

const PATHS = { paths: required(either(TEXT, listOf(TEXT, 'a list of paths'), oneOf(null))) };

let named: readonly string[] | null = null;
let loaded: { readonly key: string; readonly tables: EventTables } | null = null;

/**
 * From now on, events of these vendors' tables (files or directories) are known by name in this
 * process, to everything that takes events by name. `null`: those of the variable
 * COUNTERPOINT_EVENT_TABLES again. Nothing is read yet.
 *
 * To be called first: `counters()` looks at the PMUs of the machine once for the whole process.
 */
export function useEventTables(paths: string | readonly string[] | null): void {
  checkOptions('useEventTables()', { paths }, PATHS);
  named = typeof paths === 'string' ? [paths] : paths;
}

/** The tables in use, read when they are first asked for. Throws where a path cannot be read. */
export function eventTables(): EventTables {
  const paths = named ?? (process.env[VARIABLE] ?? '').split(':').filter((path) => path !== '');
  if (paths.length === 0) return NO_TABLES;
  const key = paths.join('\0');
  if (loaded?.key !== key) loaded = { key, tables: readTables(paths) };
  return loaded.tables;
}

function readTables(paths: readonly string[]): EventTables {
  const problems = new ProblemList();
  const tables: EventTable[] = [];
  for (const path of paths) {
    try {
      tables.push(...readVendorFiles(path, machineCpus(), problems).tables);
    } catch (error) {
      if (named !== null || !(error instanceof CounterpointError)) throw error;
      throw new CounterpointError(
        error.code,
        `${error.message} (named by ${VARIABLE})`,
        `${error.remedy}\nOr do without them: unset ${VARIABLE}`,
      );
    }
  }
  return placeTables(tables, pmuNames(), problems);
}

function pmuNames(): string[] {
  try {
    return readdirSync(DEVICES).sort();
  } catch {
    // A kernel without perf events: every table is one of another machine.
    return [];
  }
}
