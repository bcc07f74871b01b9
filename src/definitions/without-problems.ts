import type { z } from 'zod'

import { innerIssues } from './shape-problems.js'

type Path = readonly PropertyKey[]

/**
 * The definition without its wrong fields, so that what the others refer to is checked all the same and every problem is
 * told at once; undefined where it cannot be looked at without them.
 */
export function withoutProblems(shape: z.ZodType, definition: unknown): unknown {
  const parsed = shape.safeParse(definition)
  if (parsed.success) return definition
  const paths = parsed.error.issues.flatMap(innerIssues).flatMap(wrongPaths)
  // From the last element of a list to the first one, so that those before keep their places.
  const rest = paths.toSorted(lastFirst).reduce<unknown>(removed, definition)
  return shape.safeParse(rest).success ? rest : undefined
}

function wrongPaths(issue: z.core.$ZodIssue): readonly Path[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
}

function lastFirst(left: Path, right: Path): number {
  return String(right.join('.')).localeCompare(String(left.join('.')), undefined, { numeric: true })
}

function removed(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    if (rest.length === 0) return list.filter((_element, index) => index !== first)
    return list.map((element, index) => (index === first ? removed(element, rest) : element))
  }
  const fields = value as Readonly<Record<PropertyKey, unknown>>
  if (rest.length > 0) return { ...fields, [first]: removed(fields[first], rest) }
  const { [first]: _wrong, ...others } = fields
  return others
}
