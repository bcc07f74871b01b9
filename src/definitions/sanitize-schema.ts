import type { z } from 'zod'

type Node = z.core.JSONSchema.BaseSchema

/** Rewrites one node of a JSON schema, in place, into words that strict providers know; its inner nodes are done before. */
export function sanitize(node: Node): void {
  if (node.oneOf !== undefined) {
    node.anyOf = node.oneOf
    delete node.oneOf
  }
  if (node.enum !== undefined) node.type ??= enumType(node.enum)
  if (node.type === 'object') sanitizeObject(node)
}

/** A record of fixed keys is an object: a required property that no list of properties has is refused. */
function sanitizeObject(node: Node): void {
  const keys = fixedKeys(node.propertyNames) ?? (node.properties === undefined ? node.required : undefined)
  delete node.propertyNames
  if (node.patternProperties !== undefined) {
    delete node.patternProperties
    node.additionalProperties = {}
  }
  const { additionalProperties: value } = node
  if (keys !== undefined && typeof value === 'object') {
    node.properties = Object.fromEntries(keys.map((key) => [key, value]))
    node.additionalProperties = false
  }
  node.additionalProperties ??= false
}

function fixedKeys(names: Node['propertyNames']): readonly string[] | undefined {
  if (typeof names !== 'object') return undefined
  const keys = names.enum ?? (names.const === undefined ? undefined : [names.const])
  return keys?.every((key) => typeof key === 'string') === true ? keys : undefined
}

function enumType(values: readonly unknown[]): NonNullable<Node['type']> {
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))]
  // zod has refused every value that JSON lacks.
  return (types.length === 1 ? types[0] : types) as NonNullable<Node['type']>
}
