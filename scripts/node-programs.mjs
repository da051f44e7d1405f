/**
 * Programs and threads of the package `counterpoint` that it starts by their files:
 * sources, and names in `dist`.
 */
export const NODE_PROGRAMS = [
  { in: 'packages/node/src/host/trace-threads/part-worker.ts', out: 'pt-worker' },
  { in: 'packages/node/src/linux/sample/profiler/recorder-main.ts', out: 'profile-recorder' },
  { in: 'packages/node/src/linux/stepping/softpmu/tracer-main.ts', out: 'soft-tracer' },
  { in: 'packages/node/src/linux/sample/formats/module-hooks.ts', out: 'module-hooks' },
];
