import { CommandError } from '../../../linux/kernel/target/index.ts';
import { type LiveEnd, LiveProfile, type LiveProfileOptions } from '../../../linux/sample/record/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { printError } from '../../common/output-error.ts';
import { takeEventTables } from '../shared/event-tables.ts';
import { type SignalStop, statusAfter, stopOnSignals, tellWait } from '../shared/stop-signals.ts';
import { showScreen } from './interactive.ts';
import { type TopSettings, topSettings } from './settings.ts';
import { printLook, printLookJson } from './text.ts';
import type { TopName } from './top.ts';
import { headOf, lookOf } from './view.ts';

const STDERR = 2;
const NAME_WAIT_MS = 300;

export async function runTop({ args, out, err }: VerbContext<TopName>): Promise<number> {
  const settings = topSettings(args);
  const { isQuiet } = settings;
  await takeEventTables(args.all('event-tables'), { verbose: args.boolean('verbose'), quiet: isQuiet }, err);
  const isScreen = !settings.asJson && !settings.asText && out.canOverwrite;
  using stop = stopOnSignals(tellWait('top', err));
  let end: LiveEnd | null;
  try {
    await using live = await LiveProfile.open({
      ...settings.live,
      ...streamsOfCommand(isScreen),
      // A person would rather see addresses than nothing.
      ...(isScreen ? { nameWaitMs: NAME_WAIT_MS } : {}),
    });
    stop.signal.addEventListener('abort', () => live.stop());
    end = isScreen
      ? await showScreen(live, settings, out, stop.signal)
      : await printTables(live, settings, { out, err, stop });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    printError(error, err, { prefix: 'counterpoint top' });
    return error.exitStatus;
  }
  const received = stop.received();
  // Ctrl-C is how people leave it, in perf, too.
  if (received === 'SIGINT' || received === 'SIGTERM') return EXIT_OK;
  return statusAfter(received, end?.exit?.code ?? null);
}

/**
 * On the screen there is no room for what a command prints, and the keys are ours; else
 * standard output is for tables.
 */
function streamsOfCommand(isScreen: boolean): Pick<LiveProfileOptions, 'launch'> {
  if (!isScreen) return { launch: { stdio: ['inherit', STDERR, 'inherit'] } };
  const own = process.stderr.isTTY === true ? 'ignore' : 'inherit';
  return { launch: { stdio: ['ignore', 'ignore', own] } };
}

async function printTables(
  live: LiveProfile,
  settings: TopSettings,
  { out, err, stop }: { out: Output; err: Output; stop: SignalStop },
): Promise<LiveEnd | null> {
  const head = headOf(live, settings);
  let shownNotes = 0;
  for await (const refresh of live) {
    for (const { text } of settings.isQuiet ? [] : live.notes.slice(shownNotes))
      err.line(err.style.yellow(`counterpoint top: ${text}`));
    shownNotes = live.notes.length;
    const { end, number, samples } = refresh;
    // A part of an interval is a table where the end came by itself; one that was ended wants no more.
    if (stop.received() !== null) return end;
    if (end === null || samples > 0 || number === 1) {
      const look = lookOf(refresh);
      if (settings.asJson) printLookJson(head, look, end, settings, out);
      else printLook(head, look, settings, out);
    }
    if (end !== null || number === settings.refreshes) return end;
  }
  return null;
}
