import {
  MODE_GUEST_KERNEL,
  MODE_HYPERVISOR,
  MODE_KERNEL,
  NONE,
  type Profile,
  SampleTable,
} from '../../profile/tables/index.ts';

/** Functions in which a CPU waits for work (of Linux, on x86 and arm64). */
const IDLE_FUNCTIONS: ReadonlySet<string> = new Set([
  'acpi_idle_do_entry',
  'acpi_processor_ffh_cstate_enter',
  'acpi_safe_halt',
  'amd_e400_idle',
  'arch_cpu_idle',
  'cpu_do_idle',
  'cpu_idle',
  'cpu_startup_entry',
  'cpuidle_enter_state',
  'default_idle',
  'default_idle_call',
  'do_idle',
  'idle_cpu',
  'intel_idle',
  'intel_idle_hlt',
  'intel_idle_ibrs',
  'intel_idle_irq',
  'mwait_idle',
  'mwait_idle_with_hints',
  'native_safe_halt',
  'poll_idle',
  'psci_enter_idle_state',
  'pv_native_safe_halt',
  'xen_safe_halt',
]);

/** What is left out. */
export interface PartOptions {
  /** Leave the kernel's samples and frames out. Default: false. */
  hideKernel?: boolean;
  /** Leave those of programs and libraries out. Default: false. */
  hideUser?: boolean;
  /** Leave out samples of the idle task while it waits: clocks go on then, too. Default: false. */
  hideIdle?: boolean;
}

/** A profile with some samples left out. */
export interface SamplePart {
  /** The samples that are left, as a copy: all else is shared with the profile. */
  profile: Profile;
  /** Share of the first event that was left out as idle, in percent. */
  idlePercent: number;
}

/** All of a profile's samples, as a copy; all else is shared. */
export function copyOfSamples(profile: Profile): Profile {
  const samples = new SampleTable();
  const names = ['timeNs', 'weight', 'count', 'thread', 'comm', 'cpu', 'event', 'stack'] as const;
  for (const name of names) {
    const { data, length } = profile.samples[name];
    Object.assign(samples[name], { data: data.slice(0, length), length });
  }
  return { ...profile, samples, events: profile.events.map((event) => ({ ...event })) };
}

/** Some of a profile's samples; shares of what is left are shares of that alone. */
export function partOfSamples(profile: Profile, options: PartOptions): SamplePart {
  const { samples, threads } = profile;
  const part = new SampleTable();
  const events = profile.events.map((event) => ({ ...event, samples: 0, sumPeriod: 0n }));
  const weights = events.map(() => 0);
  const idle = new IdleTest(profile);
  let [idleWeight, allWeight] = [0, 0];
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    const event = samples.event.at(row);
    const weight = samples.weight.at(row);
    const frame = stack === NONE ? NONE : profile.stacks.frame.at(stack);
    if (event === 0) allWeight += weight;
    if (options.hideIdle === true && threads.pid.at(samples.thread.at(row)) === 0 && idle.isIdle(frame)) {
      if (event === 0) idleWeight += weight;
      continue;
    }
    if (isKernelFrame(profile, frame) ? options.hideKernel === true : options.hideUser === true) continue;
    part.timeNs.push(samples.timeNs.at(row));
    part.thread.push(samples.thread.at(row));
    part.comm.push(samples.comm.at(row));
    part.cpu.push(samples.cpu.at(row));
    part.event.push(event);
    part.stack.push(stack);
    part.weight.push(weight);
    part.count.push(samples.count.at(row));
    events[event]!.samples += samples.count.at(row);
    weights[event]! += weight;
  }
  events.forEach((event, index) => {
    event.samples = Math.round(event.samples);
    event.sumPeriod = BigInt(Math.round(weights[index]!));
  });
  return {
    profile: { ...profile, samples: part, events },
    idlePercent: allWeight === 0 ? 0 : (100 * idleWeight) / allWeight,
  };
}

function isKernelFrame({ frames }: Profile, frame: number): boolean {
  const mode = frame === NONE ? 0 : frames.mode.at(frame);
  return mode === MODE_KERNEL || mode === MODE_GUEST_KERNEL || mode === MODE_HYPERVISOR;
}

class IdleTest {
  readonly #profile: Profile;
  readonly #bySymbol = new Map<number, boolean>();

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  isIdle(frame: number): boolean {
    if (frame === NONE) return false;
    const { frames, symbols, strings } = this.#profile;
    const symbol = frames.symbol.at(frame);
    if (symbol === NONE) return false;
    let found = this.#bySymbol.get(symbol);
    if (found === undefined) {
      found = IDLE_FUNCTIONS.has(strings.get(symbols.name.at(symbol)));
      this.#bySymbol.set(symbol, found);
    }
    return found;
  }
}
