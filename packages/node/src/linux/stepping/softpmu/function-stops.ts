import { breakpointsWork, realSys, type Sys } from '../../kernel/sys/index.ts';
import { RegisterPlaces, SteppedPlaces, type StopPlaces, type StopWay } from './stop-places.ts';
import { UprobePlaces } from './uprobe-places.ts';

/** How threads can be stopped at a function on this machine, the best way first. */
export function functionWay(sys: Sys): StopWay {
  if (breakpointsWork(sys) !== false) return 'debug-register';
  return UprobePlaces.open() === null ? 'step' : 'uprobe';
}

export function stopPlaces(way: StopWay = functionWay(realSys)): StopPlaces {
  if (way === 'debug-register') return new RegisterPlaces();
  return (way === 'uprobe' ? UprobePlaces.open() : null) ?? new SteppedPlaces();
}
