import { readFileSync } from 'node:fs';
import { encodeTracingData } from '@counterpoint/core/perfdata';
import { tracefsRoot } from '../../kernel/sys/index.ts';

/**
 * What the kernel says about the fields of tracepoints: without it their samples are
 * bytes. Null without tracepoints.
 */
export function tracingData(
  tracepoints: readonly { system: string; name: string }[],
  pageSizeBytes: number,
): Uint8Array | null {
  const root = tracepoints.length === 0 ? null : tracefsRoot();
  if (root === null) return null;
  const read = (path: string) => readText(`${root}/${path}`);
  const systems = [...new Set(tracepoints.map(({ system }) => system))].map((name) => ({
    name,
    formats: tracepoints
      .filter(({ system }) => system === name)
      .map((one) => read(`events/${one.system}/${one.name}/format`))
      .filter((text) => text !== ''),
  }));
  return encodeTracingData({
    littleEndian: true,
    longSize: 8,
    pageSize: pageSizeBytes,
    headerPage: read('events/header_page'),
    headerEvent: read('events/header_event'),
    ftraceFormats: [],
    systems,
    kallsyms: new Uint8Array(0),
    printkFormats: Buffer.from(read('printk_formats')),
    savedCommandNames: Buffer.from(read('saved_cmdlines')),
  });
}

/** As it is: formats end in empty lines that belong to them. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
