/** What follows a function's name in its box: `/app/lib/fib.js:1:13` of tier `*` as `fib.js:1 *`. */
export function boxDetail(place: string, tier: string): string {
  const short = shortPlace(place);
  return short === '' || tier === '' ? short : `${short} ${tier}`;
}

function shortPlace(place: string): string {
  const numbers = /(:\d+)?(:\d+)?$/.exec(place)!;
  return place.slice(place.lastIndexOf('/', numbers.index) + 1, numbers.index) + (numbers[1] ?? '');
}
