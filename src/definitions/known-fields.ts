import { z } from 'zod'

/** The fields that an object at this place of a shape may have; none where the shape says nothing of them. */
export function knownFields(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  return objectsAt(shape, path).flatMap((object) => Object.keys(object.shape))
}

function objectsAt(shape: z.core.$ZodType, path: readonly PropertyKey[]): readonly z.ZodObject[] {
  if (shape instanceof z.ZodOptional) return objectsAt(shape.unwrap(), path)
  if (shape instanceof z.ZodUnion) return shape.options.flatMap((option) => objectsAt(option, path))
  const [first, ...rest] = path
  if (first === undefined) return shape instanceof z.ZodObject ? [shape] : []
  if (shape instanceof z.ZodArray) return objectsAt(shape.element, rest)
  if (shape instanceof z.ZodRecord) return objectsAt(shape.valueType, rest)
  const field: unknown = shape instanceof z.ZodObject ? shape.shape[String(first)] : undefined
  return field instanceof z.core.$ZodType ? objectsAt(field, rest) : []
}
