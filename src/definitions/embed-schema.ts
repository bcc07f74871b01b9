import type { JSONSchema7 } from '@ai-sdk/provider'

/**
 * A schema for a place inside of another: what it says of itself (`#`, in recursive ones) still means it.
 * `pointer`: that place, as in `#/properties/items`.
 */
export function embedSchema(schema: JSONSchema7, pointer: string): JSONSchema7 {
  // Only texts of its references differ.
  return moved(schema, pointer) as JSONSchema7
}

function moved(node: unknown, pointer: string): unknown {
  if (Array.isArray(node)) return node.map((part) => moved(part, pointer))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]: [string, unknown]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#')
        ? [key, `${pointer}${value.slice(1)}`]
        : [key, moved(value, pointer)],
    ),
  )
}
