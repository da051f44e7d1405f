import { closeSync, readFileSync, writeFileSync } from 'node:fs';
import { printableJson } from '@counterpoint/core/base';
import { openOutputFile } from '../../../host/files/index.ts';
import {
  type ControlData,
  type ControlOptions,
  type ControlRequest,
  controlData,
  controlRequest,
  parseControlData,
  parseList,
} from '../../../linux/count/counting/index.ts';
import type { VerbContext } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { StatName } from './stat.ts';

type Arguments = VerbContext<StatName>['args'];

/** What is counted, also as text where it can be saved. */
export interface Control {
  request: ControlRequest;
  options: ControlOptions;
  /** The file that it was read from, with what is not known here. */
  before: ControlData | undefined;
}

/** `--control-data FILE`: the sets of a file instead of those of the command line. */
export function readControl(args: Arguments): Control | null {
  const path = args.string('control-data');
  if (path === undefined) return null;
  const others = (
    [
      'event',
      'group',
      'pfm-events',
      'metrics',
      'topdown',
      'set',
      'switch',
      'filter',
      'detailed',
      'null',
    ] as const
  ).filter((name) => args.has(name));
  if (others.length > 0)
    throw new UsageError(
      `--control-data says what to count, and so does ${args.shown(others[0]!)}`,
      'Leave one of them out.',
    );
  const before = parseControlData(readFileSync(path, 'utf8'), path);
  const { inherit, levels, pinned, exclusive, ...request } = controlRequest(before);
  const options: ControlOptions = {};
  for (const [name, value] of Object.entries({ inherit, levels, pinned, exclusive }))
    if (value !== undefined) Object.assign(options, { [name]: value });
  return { request, options, before };
}

/**
 * `--save-control FILE`, or `-` for standard output: for `--control-data`, and for
 * `session.update` of a program.
 */
export async function saveControl(
  path: string,
  { request, options, before }: Control,
  out: Output,
): Promise<void> {
  const data = controlData({ ...request, ...options }, before);
  // Nobody could count what such a file says.
  for (const { events } of data.sets) parseList(events);
  if (data.switch?.event !== undefined) parseList(data.switch.event);
  if (path === '-') return out.json(data);
  const fd = await openOutputFile(path);
  try {
    writeFileSync(fd, `${printableJson(data, 2)}\n`);
  } finally {
    closeSync(fd);
  }
}
