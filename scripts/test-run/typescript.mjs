// For each process of a run of tests. Test files are compiled once (compile.ts); what runs from its sources
// still has tsx, which takes half a second of CPU time to load.
if (process.argv[1]?.endsWith('.ts')) await import('tsx');
