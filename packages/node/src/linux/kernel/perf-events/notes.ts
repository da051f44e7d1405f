/** What was done otherwise than asked, and why. Every one is shown to the user and kept in the result. */
export interface Note {
  /** What was done. It is stable, for programs. */
  kind:
    | 'event-replaced'
    | 'kernel-excluded'
    | 'precision-lowered'
    | 'feature-dropped'
    | 'frequency-lowered'
    | 'ring-smaller'
    | 'aux-smaller'
    | 'ring-rounded'
    | 'limit-raised'
    | 'task-gone'
    | 'threads-missed'
    | 'trigger-ended'
    | 'trigger-incomplete'
    | 'names-read-again'
    | 'left-over'
    | 'cpu-gone'
    | 'switches-late'
    | 'no-switch'
    | 'nameless-code'
    | 'node-names'
    | 'perf-map'
    | 'inlined-code'
    | 'build-ids'
    | 'kernel-names'
    | 'stopped'
    | 'command-goes-on'
    | 'features-left-out'
    | 'other-programs'
    | 'format-early'
    | 'format-failed'
    | 'format-memory'
    | 'events-taken'
    | 'call-stacks'
    | 'no-callchains'
    | 'no-realtime'
    | 'probe-children'
    | 'breakpoints';
  /** What was done and why, as a sentence for a person. */
  text: string;
}

/** Once, however many events it is about. */
export function addNote(notes: Note[], note: Note): void {
  if (!notes.some(({ kind, text }) => kind === note.kind && text === note.text)) notes.push(note);
}
