/** The name in what may be written as a name alone, or as an object with one. */
export function entryName(entry: string | { readonly name: string }): string {
  return typeof entry === 'string' ? entry : entry.name
}
