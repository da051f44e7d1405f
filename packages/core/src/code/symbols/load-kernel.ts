import { decodeUtf8, FormatError } from '../../base/index.ts';
import { openElf, readBuildId, readSymbols } from '../elf/index.ts';
import type { CodeSymbols } from './code-symbols.ts';
import type { SymbolDriver } from './driver.ts';
import { elfCodeSymbols } from './elf-symbols.ts';
import { type Kallsyms, kallsymsAddress, parseKallsyms } from './kallsyms.ts';
import { kernelCodeSymbols } from './kernel-symbols.ts';
import type { LoadContext } from './load-context.ts';
import { malformedText } from './malformed-text.ts';
import { parseModules } from './modules.ts';

const MAX_KALLSYMS_BYTES = 1 << 28;

/** Each driver's kallsyms by build id: the kernel and all its modules are in one text of 10 MB. */
const parsed = new WeakMap<SymbolDriver, Map<string, Promise<Kallsyms | null>>>();

/**
 * The kernel, or one module of it: from kallsyms, else (the kernel) from a
 * vmlinux with the recorded build id.
 */
export async function loadKernel(context: LoadContext): Promise<CodeSymbols | null> {
  const { binary, options } = context;
  if (binary.path.startsWith('[guest')) {
    context.report('guest', 'symbols of a guest kernel are not looked for');
    return null;
  }
  const buildId = binary.kind === 'kernel' ? binary.buildId : (options.kernelBuildId ?? '');
  if (buildId === '' && options.acceptUnverified === false) {
    context.report(
      'unverified',
      'the recording has no build id for the kernel, so another one cannot be told',
    );
    return null;
  }
  const table = await kallsymsOf(context, buildId);
  if (table === null || table.isRestricted) {
    const image = binary.kind === 'kernel' ? await loadImage(context, buildId) : null;
    if (image === null) reportNoKernel(context, table, buildId);
    return image;
  }
  if (table.damage.total > 0)
    context.report('kallsyms-damaged', malformedText(table.damage.total, 'kallsyms'));
  const shift = shiftTo(context, (symbol) => kallsymsAddress(table, symbol), buildId);
  if (shift === null) return null;
  if (binary.kind === 'kernel') {
    // After another boot the modules are elsewhere, by distances of their own.
    return kernelCodeSymbols(table, { module: shift === 0 ? null : 0, shift });
  }
  return loadModule(context, table, shift);
}

async function kallsymsOf(context: LoadContext, buildId: string): Promise<Kallsyms | null> {
  let tables = parsed.get(context.driver);
  if (tables === undefined) parsed.set(context.driver, (tables = new Map()));
  let table = tables.get(buildId);
  if (table === undefined) {
    table = readKallsyms(context, buildId);
    tables.set(buildId, table);
  }
  return table;
}

async function readKallsyms(context: LoadContext, buildId: string): Promise<Kallsyms | null> {
  const file = await context.driver.open(
    { need: 'kallsyms', path: '[kernel.kallsyms]', buildId, pid: -1, required: true },
    context.diagnostics,
  );
  if (file === null) return null;
  try {
    return parseKallsyms(await file.read(0, Math.min(file.size, MAX_KALLSYMS_BYTES)));
  } finally {
    await file.close?.();
  }
}

/** A vmlinux as a second source, where kallsyms is that of another kernel or may not be read. */
async function loadImage(context: LoadContext, buildId: string): Promise<CodeSymbols | null> {
  if (buildId === '') return null;
  const file = await context.driver.open(
    { need: 'binary', path: 'vmlinux', buildId, pid: -1, required: false },
    context.diagnostics,
  );
  if (file === null) return null;
  try {
    const elf = await openElf(file);
    const symbols = (await readBuildId(elf)) === buildId ? await readSymbols(elf, 'symtab') : null;
    if (symbols === null) return null;
    const addressOf = (name: string) => {
      for (let row = 0; row < symbols.count; row++) if (symbols.name(row) === name) return symbols.value(row);
      return Number.NaN;
    };
    const shift = shiftTo(context, addressOf, buildId);
    if (shift === null) return null;
    return elfCodeSymbols({ tables: [{ elf, symbols }], plt: [], layout: shift }, (name) => name);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return null;
  } finally {
    await file.close?.();
  }
}

/**
 * How far the recorded kernel lay from where the symbols say: KASLR puts it elsewhere at each
 * boot. Null (said why) where that cannot be known, or where only equal addresses speak for the
 * kernel being the recorded one.
 */
function shiftTo(
  context: LoadContext,
  addressOf: (symbol: string) => number,
  buildId: string,
): number | null {
  const reference = context.options.kernelReference ?? null;
  if (reference === null) return 0;
  const here = addressOf(reference.symbol);
  // Addresses arrive signed or unsigned; a page address is exact in both.
  const recorded = reference.address >= 2 ** 63 ? reference.address - 2 ** 64 : reference.address;
  if (Number.isNaN(here)) {
    context.report(
      'kernel-reference',
      `the kernel has no symbol ${reference.symbol} to compare addresses by`,
    );
    return null;
  }
  if (recorded !== here && buildId === '') {
    context.report(
      'kernel-differs',
      `${reference.symbol} is at another address than recorded, and the recording has no build id to tell another boot from another kernel`,
      'Report on the recorded machine before it boots again.',
    );
    return null;
  }
  return recorded - here;
}

async function loadModule(
  context: LoadContext,
  table: Kallsyms,
  kernelShift: number,
): Promise<CodeSymbols | null> {
  const name = moduleName(context.binary.path);
  const module = table.modules.indexOf(name);
  if (module < 1) {
    context.report(
      'module-not-loaded',
      `the module ${name} is not loaded`,
      `Load it again: modprobe ${name}`,
    );
    return null;
  }
  const { moduleStart } = context.options;
  let shift = 0;
  if (moduleStart !== undefined) {
    const file = await context.driver.open(
      { need: 'modules', path: '/proc/modules', buildId: '', pid: -1, required: false },
      context.diagnostics,
    );
    if (file !== null) {
      const modules = parseModules(decodeUtf8(await file.read(0, file.size)));
      await file.close?.();
      const here = modules.find((one) => one.name === name)?.address ?? 0;
      if (here !== 0) shift = moduleStart - here;
    }
  } else if (kernelShift !== 0) {
    context.report(
      'module-moved',
      `the machine was booted again, so the old place of the module ${name} is not known`,
    );
    return null;
  }
  return kernelCodeSymbols(table, { module, shift });
}

/**
 * `[ext4]` and `/lib/modules/.../ext4.ko.zst` are the module `ext4`; file names may have
 * `-` where the kernel has `_`.
 */
function moduleName(path: string): string {
  const base = path.slice(path.lastIndexOf('/') + 1);
  return base.replace(/^\[|\]$|\.ko(\.\w+)?$/g, '').replaceAll('-', '_');
}

function reportNoKernel(context: LoadContext, table: Kallsyms | null, buildId: string): void {
  if (table?.isRestricted === true)
    context.report(
      'kernel-restricted',
      'the kernel shows its addresses to this user as zeros',
      'As root: sysctl kernel.kptr_restrict=0; or report as root.',
    );
  else
    context.report(
      'kernel-not-found',
      buildId === ''
        ? 'no symbols of the kernel were found'
        : `the running kernel is not the recorded one (build id ${buildId}), and there is no copy of the symbols of the recorded one`,
      'Report on the recorded machine before its kernel is replaced, or install the vmlinux of that kernel (the -dbg or debuginfo package).',
    );
}
