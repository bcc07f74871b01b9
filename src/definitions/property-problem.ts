import type { z } from 'zod'

/** What a bound property has to hold: a text, or one attachment path or several. */
export type PropertyUse = 'text' | 'paths'

const TEXT_TYPES: ReadonlySet<string> = new Set(['string', 'enum', 'literal', 'union', 'unknown'])

/** Says why a property of a schema cannot be used as text or as attachment paths. */
export function propertyProblem(
  schema: z.ZodObject | undefined,
  property: string,
  use: PropertyUse,
): string | undefined {
  const shape = schema?.shape ?? {}
  const known = Object.keys(shape)
  if (schema === undefined || !Object.hasOwn(shape, property)) {
    const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
    return `'${property}' is not one of the arguments: ${list}`
  }
  const inner = unwrapped(shape[property] as z.core.$ZodType)
  const element =
    use === 'paths' && inner._zod.def.type === 'array' ? unwrapped(inner._zod.def.element) : inner
  if (TEXT_TYPES.has(element._zod.def.type)) return undefined
  const expected = use === 'text' ? 'a string' : 'a string or an array of strings'
  return `'${property}' has to be ${expected}, but is of type '${inner._zod.def.type}'`
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodTypes {
  const typed = schema as z.core.$ZodTypes
  const { def } = typed._zod
  const isWrapper = def.type === 'optional' || def.type === 'nullable' || def.type === 'default'
  return isWrapper ? unwrapped(def.innerType) : typed
}
