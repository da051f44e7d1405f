/** Code that was made while the program ran: `perf-PID.map`, jitdump. */
export * from '../jit/index.ts';
