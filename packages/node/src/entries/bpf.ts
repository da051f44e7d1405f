/** Programs for the kernel: assembled, loaded, attached; their maps and rings read. */
export * from '../bpf/index.ts';
