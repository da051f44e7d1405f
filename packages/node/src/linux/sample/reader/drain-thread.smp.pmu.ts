// On two arm64 CPUs, whose loads and stores are ordered by their own instructions only. Imported in this form
// because the package says that its modules have no side effects, so that a bundle would leave tests out.
await import('./drain-thread.test.ts');
