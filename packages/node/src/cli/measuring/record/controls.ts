import { printable } from '@counterpoint/core/base';
import type { RecordControl, RecordOptions } from '../../../linux/sample/record/index.ts';
import type { Output } from '../../common/output.ts';
import {
  ControlChannel,
  type ControlCommand,
  type ControlPlace,
  parseControlPlace,
} from '../shared/control-channel.ts';
import { controlEventLines } from '../shared/control-events.ts';

/** perf's words for a recording. `snapshot` is one of the trace, or the next file of `--switch-output`. */
const COMMANDS = ['enable', 'disable', 'evlist', 'ping', 'stop', 'snapshot'] as const;
type Command = ControlCommand<(typeof COMMANDS)[number]>;

const PREFIX = 'counterpoint record: --control';

/** What steers a recording from outside: lines of --control, and SIGUSR2 for the next file or snapshot. */
export class RecordControls implements Disposable {
  readonly #place: ControlPlace | null;
  readonly #err: Output;
  #channel: ControlChannel<Command['name']> | null = null;
  #onSignal: (() => void) | null = null;

  constructor(place: string | undefined, err: Output) {
    this.#place = place === undefined ? null : parseControlPlace(place);
    this.#err = err;
  }

  /** For the options of `record`; nothing where nobody steers. */
  wishes(isSteered: boolean, stop: () => void): Pick<RecordOptions, 'onControl'> {
    if (!isSteered) return {};
    return {
      onControl: (control) => {
        this.#onSignal = () => takeNext(control);
        process.on('SIGUSR2', this.#onSignal);
        if (this.#place === null) return;
        this.#channel = new ControlChannel(
          this.#place,
          COMMANDS,
          (command) => this.#obey(command, control, stop),
          (line) => this.#tell(`${PREFIX} does not know '${printable(line)}'`),
        );
      },
    };
  }

  #obey({ name, argument }: Command, control: RecordControl, stop: () => void): void {
    const event = argument === '' ? undefined : argument;
    switch (name) {
      case 'enable':
      case 'disable':
        if (!control[name](event)) this.#tell(`${PREFIX}: no event ${printable(argument)} is recorded`);
        return;
      case 'evlist':
        for (const line of controlEventLines(control.events, argument) ?? [
          `${PREFIX}: evlist knows -v (attrs), -g (groups) and -F (periods), not '${printable(argument)}'`,
        ])
          this.#tell(line);
        return;
      case 'snapshot':
        takeNext(control);
        return;
      case 'stop':
        stop();
    }
  }

  #tell(line: string): void {
    this.#err.line(line);
    this.#err.flush();
  }

  [Symbol.dispose](): void {
    if (this.#onSignal !== null) process.off('SIGUSR2', this.#onSignal);
    this.#channel?.[Symbol.dispose]();
  }
}

/** What does not do one does the other. */
function takeNext(control: RecordControl): void {
  control.switchOutput();
  void control.snapshot();
}
