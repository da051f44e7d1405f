import { type Measurement, spreadOf, spreadPercent } from '../../../linux/count/stat/index.ts';
import { twoDigits } from '../../common/human.ts';

const NS = 1e9;

/** The lines under the table: how long it took. perf's digits. */
export function timeLines(runs: readonly Measurement[], isCommand: boolean, withTable: boolean): string[] {
  const [first] = runs;
  if (runs.length > 1) return repeatedTimeLines(runs, withTable);
  const elapsed = ` ${secondsText(first!.elapsedNs)} seconds time elapsed`;
  if (!isCommand) return ['', elapsed, ''];
  const { userNs, systemNs } = first!.times;
  return [
    '',
    elapsed,
    '',
    ` ${secondsText(userNs)} seconds user`,
    ` ${secondsText(systemNs)} seconds sys`,
    '',
    '',
  ];
}

function secondsText(ns: bigint): string {
  return (Number(ns) / NS).toFixed(9).padStart(17);
}

/** Three digits of the standard error, and as many of the mean. */
function repeatedTimeLines(runs: readonly Measurement[], withTable: boolean): string[] {
  const seconds = runs.map(({ elapsedNs }) => Number(elapsedNs) / NS);
  const spread = spreadOf(seconds);
  const { mean, standardError } = spread;
  const digits = precisionOf(standardError) + 2;
  const percent = spreadPercent(spread);
  const share = percent === 0 ? '' : `  ( +-${twoDigits(percent).padStart(6)}% )`;
  const meanText = mean.toFixed(digits).padStart(17);
  const result = ` ${meanText} +- ${standardError.toFixed(digits)} seconds time elapsed${share}`;
  if (!withTable) return ['', result, ''];
  // Where the numbers begin.
  const indent = ' '.repeat(result.search(/\S/));
  return [
    '',
    `${indent}# Table of individual measurements:`,
    ...seconds.map((value) => tableLine(value, mean, digits)),
    '',
    `${indent}# Final result:`,
    result,
    '',
  ];
}

function precisionOf(value: number): number {
  return value > 1 || value === 0 ? 0 : Math.ceil(-Math.log10(value));
}

function tableLine(value: number, mean: number, digits: number): string {
  const difference = value - mean;
  const sign = difference < 0 ? '-' : '+';
  const bar = '#'.repeat(1 + Math.floor(Math.abs((100 * (mean - value)) / value) / 5));
  return ` ${value.toFixed(digits).padStart(17)} (${sign}${Math.abs(difference).toFixed(digits)}) ${bar}`;
}
