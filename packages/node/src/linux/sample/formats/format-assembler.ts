import {
  BpfAssembler,
  type BpfAssemblerOptions,
  type BpfMapDefinition,
  type CommonContextField,
  ownPidNamespace,
  type Register,
  r0,
  r9,
  type SourceLine,
} from '../../kernel/bpf/index.ts';

export interface KeepsNoRecord {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
}

/**
 * The assembler of a format's programs: it ends what its author left open, and does what is to
 * be done at the end of each run.
 *
 *   handler: … asm.dropRecord() … asm.keepRecord() … ──> r9 = the verdict; `beforeEnd`; r0 = r9; exit
 */
export class FormatAssembler extends BpfAssembler {
  /** Written once, where all runs end. The verdict is in r9, and what else its author used is free. */
  beforeEnd: (() => void) | null = null;
  /** A run that ends where the program is written so far may have something to do then. */
  needsEnd: () => boolean = () => true;
  /** Written where asm.countInMap() and its kind have put a new key into a map. Loses r0 to r5. */
  afterInsert: ((map: BpfMapDefinition) => (() => void) | undefined) | null = null;
  /** Why a handler cannot keep the kernel's records. */
  keepsNoRecord: KeepsNoRecord | null = null;
  /** What `samplePeriod` is on a tracepoint or probe, whose context has none. */
  hitsPerOverflow = 1;
  readonly #end = this.code.unnamed('end of the run');
  #hasEnd = false;
  #isAtEnd = false;

  /** Its tasks have the numbers that the kernel's records of our events have. */
  constructor(options: BpfAssemblerOptions) {
    super({ pidNamespace: ownPidNamespace(), ...options });
  }

  /** Whose line wrote the latest instruction. */
  get lastLine(): SourceLine | null {
    return this.code.lastLine();
  }

  /** Does the program, as far as it is written, refer to this map? */
  uses({ name }: BpfMapDefinition): boolean {
    return this.maps.some((map) => map.name === name);
  }

  override exit(): void {
    if (this.beforeEnd === null || this.#isAtEnd || !this.needsEnd()) {
      super.exit();
      return;
    }
    this.#hasEnd = true;
    this.jumpTo(this.#end);
  }

  override return(value: number | Register): void {
    if (this.keepsNoRecord !== null && value !== 0 && this.options.type === 'perf-event')
      throw this.code.error(this.keepsNoRecord.code, this.keepsNoRecord.message, this.keepsNoRecord.remedy);
    super.return(value);
  }

  /** There is no record of ours at a tracepoint or probe, and 0 would take those of everybody else. */
  override dropRecord(): void {
    if (this.#isHook()) this.return(1);
    else super.dropRecord();
  }

  override loadContext(destination: Register, field: CommonContextField | (string & {})): void {
    const { fields = [] } = this.options;
    if (field === 'samplePeriod' && this.#isHook() && !fields.some(({ name }) => name === field))
      this.move(destination, this.hitsPerOverflow);
    else super.loadContext(destination, field);
  }

  /** End here, and leave out what is done before the end. */
  exitAtOnce(verdict: number): void {
    this.move(r0, verdict);
    super.exit();
  }

  /** A handler that comes to its end keeps nothing; on a tracepoint, others want the record. */
  end(): void {
    if (this.code.isReachable) this.return(this.options.type === 'perf-event' ? 0 : 1);
    this.#isAtEnd = true;
    if (!this.#hasEnd) return;
    this.code.place(this.#end);
    this.move(r9, r0);
    this.beforeEnd?.();
    this.move(r0, r9);
    super.exit();
  }

  #isHook(): boolean {
    return this.options.type === 'tracepoint' || this.options.type === 'kprobe';
  }

  protected override onInserted(map: BpfMapDefinition): (() => void) | undefined {
    return this.afterInsert?.(map);
  }
}
