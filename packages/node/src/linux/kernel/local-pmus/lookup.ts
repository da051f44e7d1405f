import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import type { EventLookup } from '@counterpoint/core/events';
import type { TracepointFormat } from '@counterpoint/core/perfdata';
import { tracefsRoot } from '../sys/index.ts';
import { type EventTables, NO_TABLES } from './event-tables.ts';
import { familyEvents } from './family-events.ts';
import { kernelFunctions } from './kernel-functions.ts';
import { ProbeFiles } from './probe-files.ts';
import { type EventSources, SysfsPmu } from './sysfs-pmu.ts';
import { Tracefs } from './tracefs.ts';
import { eventTables } from './use-event-tables.ts';

/** What this machine offers, by name; nothing is read before it is asked for, and nothing twice. */
export interface SystemEventLookup extends EventLookup {
  pmu(name: string): SysfsPmu | null;
}

/** Of this machine also at a mount of our own, where there is no other. */
function tracefsPlaces(root: string): string[] {
  const places = [join(root, 'kernel/tracing'), join(root, 'kernel/debug/tracing')];
  const own = root === '/sys' ? tracefsRoot() : null;
  return own === null || places.includes(own) ? places : [...places, own];
}

/**
 * A tracepoint of this machine with its id and fields. Throws where there is
 * none, or where it may not be read.
 */
export function systemTracepoint(system: string, name: string): TracepointFormat {
  const tracepoints = new Tracefs(() => tracefsPlaces('/sys'));
  const found = tracepoints.format(system, name);
  if (found !== null && 'id' in found) return found;
  if (found !== null) throw new CounterpointError('ERR_TRACEFS', found.unavailable, found.remedy);
  const near = didYouMean(nearestNames(`${system}:${name}`, tracepoints.names()));
  throw new CounterpointError(
    'ERR_NO_TRACEPOINT',
    `this kernel has no tracepoint ${system}:${name}${near}`,
    'To list all: counterpoint list tracepoint',
  );
}

/**
 * The events of the machine whose sysfs is at `root`. `tracefs` is where tracepoints are; else its
 * own mount point, then the old one inside debugfs. `tables`: vendors' tables, of which this
 * machine's PMUs get their events.
 */
export function systemEventLookup(
  root = '/sys',
  tracefs?: string,
  tables: () => EventTables = root === '/sys' ? eventTables : () => NO_TABLES,
): SystemEventLookup {
  const devices = join(root, 'bus/event_source/devices');
  const tracepoints = new Tracefs(() => (tracefs === undefined ? tracefsPlaces(root) : [tracefs]));
  const pmus = new Map<string, SysfsPmu | null>();
  const files = new ProbeFiles();
  // Another root is another machine, of whose CPU nothing is known.
  const sources: EventSources = {
    family: root === '/sys' ? familyEvents : () => new Map(),
    tables: (name) => tables().events.get(name) ?? new Map(),
  };
  let names: readonly string[] | null = null;

  const pmuNames = () => {
    names ??= listNames(devices);
    return names;
  };
  return {
    pmuNames,
    absentPmus: () => tables().absentPmus,
    pmu(name) {
      let pmu = pmus.get(name);
      if (pmu === undefined) {
        pmu = pmuNames().includes(name) ? SysfsPmu.read(devices, name, sources) : null;
        pmus.set(name, pmu);
      }
      return pmu;
    },
    tracepoint: (system, name) => tracepoints.id(system, name),
    tracepointNames: () => tracepoints.names(),
    tracepointFields: (system, name) => tracepoints.fields(system, name),
    probeFile: (path) => files.get(path),
    kernelFunctions,
  };
}

function listNames(devices: string): string[] {
  try {
    return readdirSync(devices).sort();
  } catch {
    // A kernel without perf events, or a container without sysfs: no PMUs; generic
    // events are still known by name.
    return [];
  }
}
