import type { Recording } from '../../host/open/index.ts';
import { EXIT_OK } from './args.ts';
import { damageLine } from './damage-text.ts';
import type { Output } from './output.ts';

/** `-D` of `report` and `script`: every record with its place, its bytes and what it says. */
export async function dumpRecording(
  name: string,
  recording: Recording,
  { out, err }: { out: Output; err: Output },
): Promise<number> {
  const { dumpRecords } = await import('@counterpoint/core/query');
  const { damage } = await dumpRecords(await recording.reader(), { name }, (text) => out.write(text));
  out.flush();
  for (const item of damage) err.line(err.style.yellow(damageLine(item)));
  return EXIT_OK;
}
