// The stub for arm64 on two arm64 CPUs, with the timer in the counter's place: the same tests as
// everywhere. Imported in this form because the package says that its modules have no side effects, so that
// a bundle would leave tests out.
await import('./page-reader.test.ts');
await import('./page-reader.fuzz.ts');
