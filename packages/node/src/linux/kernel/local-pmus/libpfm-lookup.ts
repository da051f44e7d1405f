import { CounterpointError } from '@counterpoint/core/base';
import type { PfmAttribute, PfmEvent, PfmLibrary, PfmPmu, PfmProblem } from '@counterpoint/core/events';
import { readAttr } from '@counterpoint/core/records';
import {
  type LibPfm,
  loadLibPfm,
  PFM_ATTR_UMASK,
  PFM_ERR_ATTR_VAL,
  PFM_ERR_NOTFOUND,
  PFM_ERR_NOTSUPP,
  PFM_ERR_UMASK,
  PFM_MOST_PMUS,
  PFM_PLM0,
  PFM_PLM3,
  PFM_SUCCESS,
} from '../sys/index.ts';

/** The system's libpfm4 as `parsePfmEvents` asks it. Throws where it is not installed. */
export function systemPfmLibrary(library: LibPfm | null = loadLibPfm()): PfmLibrary {
  if (library === null) {
    throw new CounterpointError(
      'ERR_NO_LIBPFM',
      'events in the grammar of libpfm4 need libpfm4, which is not installed (libpfm.so.4)',
      'Install it: sudo apt-get install libpfm4',
    );
  }
  return new SystemPfmLibrary(library);
}

/** `perf_event_attr.size`. */
const ATTR_SIZE_OFFSET = 4;

class SystemPfmLibrary implements PfmLibrary {
  readonly #library: LibPfm;
  #pmus: readonly PfmPmu[] | null = null;
  readonly #events = new Map<PfmPmu, readonly PfmEvent[]>();

  constructor(library: LibPfm) {
    this.#library = library;
  }

  encode(event: string): ReturnType<PfmLibrary['encode']> {
    const levels = PFM_PLM0 | PFM_PLM3;
    const perf = this.#library.perfEncoding(event, levels);
    if (perf.code !== PFM_SUCCESS && perf.code !== PFM_ERR_NOTSUPP) return this.#problem(perf.code);
    // Modifiers of perf alone (period, precise) are unknown to the hardware: then there are no codes.
    const raw = this.#library.rawEncoding(event, levels);
    if (perf.code !== PFM_SUCCESS && raw.code !== PFM_SUCCESS) return this.#problem(perf.code);
    const fullName = perf.code === PFM_SUCCESS ? perf.name : raw.name;
    const pmuName = fullName.slice(0, fullName.indexOf('::'));
    return {
      attr: perf.code === PFM_SUCCESS ? attrOf(perf.attr) : null,
      cpu: perf.code === PFM_SUCCESS ? perf.cpu : -1,
      fullName,
      codes: raw.codes,
      pmu: this.pmus().find(({ name }) => name === pmuName)!,
    };
  }

  pmus(): readonly PfmPmu[] {
    this.#pmus ??= Array.from({ length: PFM_MOST_PMUS }, (_, number) => this.#library.pmuInfo(number)).filter(
      (info) => info !== null,
    );
    return this.#pmus;
  }

  events(pmu: PfmPmu): readonly PfmEvent[] {
    let events = this.#events.get(pmu);
    if (events === undefined) {
      const found: PfmEvent[] = [];
      for (let index = pmu.firstEvent; index !== -1; index = this.#library.nextEvent(index)) {
        const info = this.#library.eventInfo(index);
        if (info !== null) found.push({ ...info, index });
      }
      events = found;
      this.#events.set(pmu, events);
    }
    return events;
  }

  attributes({ index, attributeCount }: PfmEvent): readonly PfmAttribute[] {
    const attributes: PfmAttribute[] = [];
    for (let number = 0; number < attributeCount; number++) {
      const info = this.#library.attributeInfo(index, number);
      if (info === null) continue;
      const { name, description, type, isDefault } = info;
      attributes.push({ name, description, isUnitMask: type === PFM_ATTR_UMASK, isDefault });
    }
    return attributes;
  }

  #problem(code: number): PfmProblem {
    const text = this.#library.errorText(code);
    switch (code) {
      case PFM_ERR_NOTFOUND:
        return { part: 'event', text };
      case PFM_ERR_ATTR_VAL:
        return { part: 'value', text };
      case PFM_ERR_UMASK:
        return { part: 'missing-mask', text };
      case PFM_ERR_NOTSUPP:
        return { part: 'other', text };
      default:
        return { part: 'attribute', text };
    }
  }
}

function attrOf(bytes: Uint8Array): ReturnType<typeof readAttr> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const attr = readAttr(view, 0, view.getUint32(ATTR_SIZE_OFFSET, true), true);
  return { ...attr, size: 0 };
}
