import { splitSpecification } from '../../../linux/sample/formats/index.ts';

/** The names of the formats whose options are asked for: `--format NAME,help`. */
export function formatsAskedAbout(specifications: readonly string[]): string[] {
  return specifications.filter(asksForHelp).map((one) => splitSpecification(one).name);
}

function asksForHelp(specification: string): boolean {
  const [, ...options] = specification.split(',');
  return options.some((option) => option.trim() === 'help');
}
