/** A definition that `registry()` found to be there: only a bug lets one refer to what is not. */
export function registered<Definition>(definition: Definition | undefined, what: string): Definition {
  if (definition === undefined) throw new Error(`Expected ${what} to be in the registry, which was checked`)
  return definition
}
