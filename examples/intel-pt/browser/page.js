/** The exact profile of a trace, by this browser's workers. */
import { blobSource } from '@counterpoint/core/base';
import { topFunctions } from '@counterpoint/core/query';
import { addElf, CodeImage } from '@counterpoint/trace/image';
import { CodeFunctions, profileInParts, profileOfExact, webPartWorker } from '@counterpoint/trace/intel-pt';

// A module of its own, with nothing outside: a bundler takes
// @counterpoint/trace/intel-pt-worker as one more entry.
const WORKER = '/packages/trace/dist/intel-pt-worker.js';
const element = (id) => document.getElementById(id);

/**
 * Calls `onProgress` with the share that is done; `signal` ends the workers, also in the middle of a part.
 */
export async function decode(program, trace, { onProgress, signal } = {}) {
  const binary = blobSource(program);
  const image = new CodeImage();
  try {
    await addElf(image, binary, { name: program.name });
  } catch (error) {
    throw new Error(`${program.name} is no program (ELF file): ${error.message}`);
  }
  const functions = new CodeFunctions();
  await functions.addElf(binary, { name: program.name });
  const threads = Math.min(navigator.hardwareConcurrency, Math.ceil(trace.size / (4 << 20)) || 1);
  const workers = Array.from({ length: threads }, () =>
    webPartWorker(new Worker(WORKER, { type: 'module' })),
  );
  // They end with it, however it ends. Only parts of the trace are in memory at a time.
  const found = await profileInParts(blobSource(trace), image, {
    workers,
    signal,
    onProgress: ({ done, total }) => onProgress?.(total === 0 ? 1 : done / total),
  });
  const { rows } = topFunctions(profileOfExact(found.profile, functions, found), { sort: ['symbol'] });
  return { threads, instructions: found.profile.totals().instructions, errors: found.errors, rows };
}

element('decode').addEventListener('click', async () => {
  const [program] = element('program').files;
  const [trace] = element('trace').files;
  const summary = element('summary');
  element('functions').replaceChildren();
  if (program === undefined || trace === undefined) {
    summary.textContent = 'Choose a program and its trace.';
    return;
  }
  const progress = element('progress');
  progress.hidden = false;
  element('decode').disabled = true;
  try {
    const startedMs = performance.now();
    const onProgress = (share) => {
      progress.value = share;
    };
    const { threads, instructions, errors, rows } = await decode(program, trace, { onProgress });
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(2);
    if (instructions === 0) {
      const isTrace = errors.some(({ code }) => code === 'no-map');
      summary.textContent = isTrace
        ? `No address of ${trace.name} is in ${program.name}: it is a trace of another program, or it was loaded elsewhere.`
        : `${trace.name} is no Intel PT trace, or it is empty.`;
      return;
    }
    const trouble = errors.map(({ code, count }) => `${count} times ${code}`).join(', ') || 'no errors';
    summary.textContent = `${instructions.toLocaleString('en')} instructions in ${seconds} s, ${threads === 1 ? '1 worker' : `${threads} workers`}; ${trouble}.`;
    element('functions').replaceChildren(
      ...rows.slice(0, 20).map(({ percent, symbol }) => {
        const row = document.createElement('tr');
        for (const text of [`${percent.toFixed(2)}%`, symbol]) row.insertCell().textContent = text;
        return row;
      }),
    );
  } catch (error) {
    summary.textContent = `${error.message} ${error.remedy ?? ''}`;
  } finally {
    progress.hidden = true;
    element('decode').disabled = false;
  }
});
