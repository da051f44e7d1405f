/** The traces of a recording, as perf's `--itrace` asks for them: samples among the recorded ones. */
export * from '../perf/samples/index.ts';
