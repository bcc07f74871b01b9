/** An option that is there but undefined must not hide a default. */
export function withoutUndefined<Options extends object>(options: Options): Options {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Options
}
