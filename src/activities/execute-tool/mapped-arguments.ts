type Fields = Readonly<Record<string, unknown>>

/** The text that an argument or a result's property carries; null if it carries none. */
export function mappedText(from: Fields, property: string | null | undefined): string | null {
  const value = valueOf(from, property)
  if (value === undefined || value === null || value === '') return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** One path or a list, as an argument may hold them; a sentence for the model for anything else. */
export function mappedPaths(from: Fields, property: string | null | undefined): readonly string[] | string {
  const value = valueOf(from, property)
  if (value === undefined || value === null || value === '') return []
  const paths: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (paths.every((path) => typeof path === 'string')) return paths
  return 'Expected attachments as paths of files in this thread.'
}

function valueOf(from: Fields, property: string | null | undefined): unknown {
  return property == null || !Object.hasOwn(from, property) ? undefined : from[property]
}
