import { missingCapabilities, probeFeatures } from '../../kernel/bpf/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';

/** Why handlers of formats cannot run here; null: they can, as far as can be known before they are loaded. */
export function whyNoHandlers(sys: Sys): string | null {
  const missing = missingCapabilities(sys);
  if (missing.length > 0) return `programs in the kernel need root, or ${missing.join(' and ')}`;
  const features = probeFeatures(sys);
  if (features === null) return 'the kernel lets nobody load programs here';
  if (!features.programTypes.has('perf-event') || !features.mapTypes.has('ring-buffer'))
    return 'this kernel has no programs on events, or no ring buffer for them (Linux 5.8)';
  return features.hasTypes ? null : 'this kernel does not tell its types (BTF)';
}
