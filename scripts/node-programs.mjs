/**
 * Programs and threads of the package `counterpoint` that it starts by their files:
 * sources, and names in `dist`.
 */
export const NODE_PROGRAMS = [
  { in: 'packages/node/src/trace/part-worker.ts', out: 'pt-worker' },
  { in: 'packages/node/src/profiler/recorder-main.ts', out: 'profile-recorder' },
  { in: 'packages/node/src/softpmu/tracer-main.ts', out: 'soft-tracer' },
  { in: 'packages/node/src/sampling/module-hooks.ts', out: 'module-hooks' },
];
