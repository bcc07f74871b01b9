/** What was said; a field that was not said is absent, which `exactOptionalPropertyTypes` tells apart from undefined. */
export function withoutUndefined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The same fields without some that are undefined.
  return Object.fromEntries(said) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> }
}
